"""Routes that llama-server has and that need more than a slot engine: most are refused in its words."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..bodies.request import Handler, read_value
from ..errors import ApiError, flag_wanted, no_part
from ..replies import json_reply

__all__ = ["REFUSED", "lora_adapters", "set_lora_adapters", "switched_off"]

NO_INFILL = "Infill is not supported by this model: " + "".join(
    f"{part} token is missing. " for part in ("prefix", "suffix", "middle")
)


def _refusing(why: str) -> Handler:
    async def refuse(_: Request) -> Response:
        raise ApiError(why, "not_supported_error")

    return refuse


_WHY = {
    flag_wanted("embeddings", "--embeddings"): ("/embedding", "/embeddings", "/v1/embeddings"),
    flag_wanted("reranking", "--reranking"): ("/rerank", "/reranking", "/v1/rerank", "/v1/reranking"),
    NO_INFILL: ("/infill",),
    "The current model does not support audio input.": ("/audio/transcriptions", "/v1/audio/transcriptions"),
    "This model is not a decision model": ("/v1/systemone",),
    no_part("the Responses API"): (
        "/responses", "/v1/responses", "/responses/input_tokens", "/v1/responses/input_tokens",
    ),
    no_part("the Messages API"): ("/v1/messages", "/v1/messages/count_tokens"),
}  # fmt: skip
REFUSED: dict[str, Handler] = {path: _refusing(why) for why, paths in _WHY.items() for path in paths}


async def switched_off(_: Request) -> Response:
    """What llama-server offers only where a flag allows it."""
    return json_reply({"error": {"message": "this feature is disabled", "type": "feature_disabled"}}, 403)


async def lora_adapters(_: Request) -> Response:
    """GET /lora-adapters: there are none."""
    return json_reply([])


async def set_lora_adapters(request: Request) -> Response:
    """POST /lora-adapters: a list changes nothing, as there are none."""
    if not isinstance(await read_value(request), list):
        raise ApiError("Request body must be an array")
    return json_reply({"success": True})
