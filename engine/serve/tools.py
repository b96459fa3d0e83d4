"""Tools of a chat body: what is wrong with them is told, and right ones are refused (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .body import type_name, write_json
from .errors import ThrownError, not_supported

__all__ = ["check_tools"]

TOOL_CHOICES = ("auto", "none", "required")


def check_tools(body: Mapping[str, object]) -> None:
    """Raise `ApiError` where a body has tools, or something else in their place."""
    tools, choice = body.get("tools"), body.get("tool_choice")
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
    if isinstance(choice, str) and choice not in TOOL_CHOICES:
        raise ThrownError(f"Invalid tool_choice: {choice}")


def _check(given: object) -> None:
    """One tool. Raises `ValueError`."""
    tool = given if isinstance(given, dict) else {}
    if "type" not in tool:
        raise ValueError(f"Missing tool type: {write_json(given)}")
    if tool["type"] != "function":
        raise ValueError(f"Unsupported tool type: {write_json(given)}")
    if "function" not in tool:
        raise ValueError(f"Missing tool function: {write_json(given)}")
    function = tool["function"]
    if not isinstance(function, dict):
        raise ValueError(f"[json.exception.type_error.304] cannot use at() with {type_name(function)}")
    if "name" not in function:
        raise ValueError("[json.exception.out_of_range.403] key 'name' not found")
    for text in (function["name"], function.get("description", "")):
        if not isinstance(text, str):
            raise ValueError(f"[json.exception.type_error.302] type must be string, but is {type_name(text)}")
