"""Tools of a chat body: what is wrong with them is told, and right ones are refused (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..bodies.json_text import write_json
from ..bodies.json_words import no_key, no_object, not_of_type
from ..errors import ThrownError, not_supported

__all__ = ["check_tools", "function_of"]

TOOL_CHOICES = ("auto", "none", "required")


def check_tools(body: Mapping[str, object], choice: str) -> None:
    """Raise `ApiError` where a body has tools, or something else in their place."""
    tools = body.get("tools")
    try:
        if tools is not None and not isinstance(tools, list):
            raise ValueError(f"Expected 'tools' to be an array, got {write_json(tools)}")
        for tool in tools or ():
            _check(tool)
    except ValueError as error:
        shown = json.dumps(tools, ensure_ascii=False, indent=2)
        raise ThrownError(f"Failed to parse tools: {error}; tools = {shown}", "server_error") from None
    if tools:
        raise not_supported("tools")
    if choice not in TOOL_CHOICES:
        raise ThrownError(f"Invalid tool_choice: {choice}")


def function_of(given: object, what: str) -> object:
    """The function that a tool, or a call of one, is about; ``what`` names it. Raises `ValueError`."""
    members = given if isinstance(given, dict) else {}
    if "type" not in members:
        raise ValueError(f"Missing {what} type: {write_json(given)}")
    if members["type"] != "function":
        raise ValueError(f"Unsupported {what} type: {write_json(given)}")
    if "function" not in members:
        raise ValueError(f"Missing {what} function: {write_json(given)}")
    return members["function"]


def _check(tool: object) -> None:
    """One tool. Raises `ValueError`."""
    function = function_of(tool, "tool")
    if not isinstance(function, dict):
        raise ValueError(no_object(function))
    if "name" not in function:
        raise ValueError(no_key("name"))
    for text in (function["name"], function.get("description", "")):
        if not isinstance(text, str):
            raise ValueError(not_of_type("string", text))
