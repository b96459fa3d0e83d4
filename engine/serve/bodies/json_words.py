"""How nlohmann's JSON library, which llama-server reads bodies with, names, visits and refuses values."""

from __future__ import annotations

__all__ = ["items_of", "no_key", "no_object", "not_of_type", "type_name"]


def type_name(value: object) -> str:
    """The library's name of a value's JSON type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def items_of(value: object) -> list[object]:
    """What a loop over a value visits: items of an array, values of an object, nothing of null, else the value."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    return list(value.values()) if isinstance(value, dict) else [value]


def not_of_type(wanted: str, value: object) -> str:
    """Refuses a value whose type is not ``wanted``."""
    return f"[json.exception.type_error.302] type must be {wanted}, but is {type_name(value)}"


def no_object(value: object) -> str:
    """Refuses a value from which a member is asked, as it is no object."""
    return f"[json.exception.type_error.304] cannot use at() with {type_name(value)}"


def no_key(name: str) -> str:
    """Refuses an object that lacks a member."""
    return f"[json.exception.out_of_range.403] key '{name}' not found"
