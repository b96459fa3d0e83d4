"""Routes that tell about the server: health, slots, metrics, props, models (spec §7.2 to §7.8)."""

from __future__ import annotations

import time

from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response

from slotview.engine.model.chat.caps import read_caps
from slotview.engine.slots.queue.task import TaskParams

from ..answers.params_json import params_json
from ..answers.slots_json import metrics_text, slots_json
from ..bodies.json_text import Json
from ..bodies.request import read_named, state_of
from ..errors import ApiError, disabled
from ..replies import json_reply

__all__ = ["change_props", "health", "metrics", "models", "props", "slots"]


async def health(_: Request) -> Response:
    """GET /health."""
    return json_reply({"status": "ok"})


async def slots(request: Request) -> Response:
    """GET /slots."""
    state = state_of(request)
    if not state.flags.http.slots:
        raise disabled("slots endpoint", "--slots")
    named = await read_named(request)
    shown = state.engine.look(slots_json)
    if named.get("fail_on_no_slot") and all(slot["is_processing"] for slot in shown):
        raise ApiError("no slot available", "unavailable_error")
    return json_reply(shown)


async def metrics(request: Request) -> Response:
    """GET /metrics; reading empties the two speed gauges."""
    state = state_of(request)
    if not state.flags.http.metrics:
        raise disabled("metrics endpoint", "--metrics")
    scrape = state.engine.look(lambda core: core.scrape())
    headers = {"Process-Start-Time-Unix": str(state.started_us), "Content-Type": "text/plain; version=0.0.4"}
    return Response(metrics_text(scrape), headers=headers)


async def props(request: Request) -> Response:
    """GET /props."""
    state = state_of(request)
    flags, model, tokenizer = state.flags, state.model, state.model.tokenizer
    plan = state.engine.core.plan
    params = params_json(TaskParams(sampling=flags.sampling, extra={"reasoning_format": "none"}))

    def spelled(token: int | None) -> str:
        return "" if token is None else tokenizer.piece(token, special=True).decode("utf-8", "replace")

    shown: Json = {
        "default_generation_settings": {"params": params, "n_ctx": plan.slot_n_ctx},
        "total_slots": plan.n_slots,
        "model_alias": state.model_name,
        "model_ftype": model.ftype,
        "model_path": model.path,
        "modalities": {"vision": False, "video": False, "audio": False},
        "media_marker": state.media_marker,
        "endpoint_slots": flags.http.slots,
        "endpoint_props": flags.http.props,
        "endpoint_metrics": flags.http.metrics,
        "ui": False,
        "ui_settings": {},
        "chat_template": state.chat_template,
        "chat_template_caps": asdict(read_caps(state.chat_template)),
        "bos_token": spelled(tokenizer.bos),
        "eos_token": spelled(tokenizer.eos),
        "build_info": state.fingerprint,
        "is_sleeping": False,
        "cors_proxy_enabled": False,
    }
    return json_reply(shown)


async def change_props(request: Request) -> Response:
    """POST /props: nothing can be changed, but with ``--props`` it says so kindly."""
    if not state_of(request).flags.http.props:
        raise disabled("changing global properties", "--props")
    return json_reply({"success": True})


async def models(request: Request) -> Response:
    """GET /v1/models."""
    state = state_of(request)
    name, model = state.model_name, state.model
    meta: Json = {
        "vocab_type": 2 if model.metadata.get("tokenizer.ggml.model") == "gpt2" else 1,
        "n_vocab": model.n_vocab,
        "n_ctx": state.engine.core.plan.slot_n_ctx,
        "n_ctx_train": model.n_ctx_train,
        "n_embd": model.n_embd,
        "n_params": model.n_params,
        "size": model.size_bytes,
        "ftype": model.ftype,
    }
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": "",
        "families": [""],
        "parameter_size": "",
        "quantization_level": "",
    }
    listed: Json = {"name": name, "model": name, "modified_at": "", "size": "", "digest": "", "type": "model"}
    listed |= {"description": "", "tags": [""], "capabilities": ["completion"], "parameters": "", "details": details}
    data: Json = {
        "id": name,
        "aliases": state.aliases or [name],
        "tags": sorted(set(state.flags.http.tags)),
        "object": "model",
        "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
        "created": int(time.time()),
        "owned_by": "llamacpp",
        "meta": meta,
    }
    return json_reply({"models": [listed], "object": "list", "data": [data]})
