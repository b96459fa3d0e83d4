"""llama-server's options without meaning here: taken, checked as llama-server checks them, and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..context.kv_size import KV_TYPES
from .flag import ON_OFF_AUTO, Flag, Kind
from .words import numbers, whole

__all__ = ["HARMLESS"]

# One option a line: its names, after "/" those that switch it off, then its variable.
_SWITCHES = """
--ui --webui / --no-ui --no-webui LLAMA_ARG_UI
--swa-full LLAMA_ARG_SWA_FULL
--perf / --no-perf LLAMA_ARG_PERF
-kvo --kv-offload / -nkvo --no-kv-offload LLAMA_ARG_KV_OFFLOAD
--repack / -nr --no-repack LLAMA_ARG_REPACK
--no-host LLAMA_ARG_NO_HOST
-cmoe --cpu-moe LLAMA_ARG_CPU_MOE
--check-tensors
--op-offload / --no-op-offload
--offline LLAMA_ARG_OFFLINE
--lora-init-without-apply
--spm-infill
-bs --backend-sampling LLAMA_ARG_BACKEND_SAMPLING
--mmproj-auto / --no-mmproj --no-mmproj-auto LLAMA_ARG_MMPROJ_AUTO
--mmproj-offload / --no-mmproj-offload LLAMA_ARG_MMPROJ_OFFLOAD
--reuse-port LLAMA_ARG_REUSE_PORT
--models-autoload / --no-models-autoload LLAMA_ARG_MODELS_AUTOLOAD
--jinja
-no-ag --no-agent
--no-ui-mcp-proxy --no-webui-mcp-proxy
--no-skip-chat-parsing
--spec-draft-backend-sampling / --no-spec-draft-backend-sampling LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING
-cmoed --cpu-moe-draft --spec-draft-cpu-moe LLAMA_ARG_SPEC_DRAFT_CPU_MOE
"""
_WHOLE = """
-tb --threads-batch
--cpu-strict
--poll
--cpu-strict-batch
--poll-batch
-mg --main-gpu LLAMA_ARG_MAIN_GPU
-ctxcp --ctx-checkpoints --swa-checkpoints LLAMA_ARG_CTX_CHECKPOINTS
--threads-http LLAMA_ARG_THREADS_HTTP
--embd-normalize
--image-min-tokens LLAMA_ARG_IMAGE_MIN_TOKENS
--image-max-tokens LLAMA_ARG_IMAGE_MAX_TOKENS
--mtmd-batch-max-tokens LLAMA_ARG_MTMD_BATCH_MAX_TOKENS
--video-timestamp-interval LLAMA_ARG_VIDEO_TIMESTAMP_INTERVAL
--models-max LLAMA_ARG_MODELS_MAX
-td --threads-draft --spec-draft-threads
-tbd --threads-batch-draft --spec-draft-threads-batch
--spec-draft-cpu-strict --cpu-strict-draft
--spec-draft-poll --poll-draft
--spec-draft-cpu-strict-batch --cpu-strict-batch-draft
--spec-draft-poll-batch --poll-batch-draft
--spec-draft-n-min LLAMA_ARG_SPEC_DRAFT_N_MIN
"""
_COUNTS = """
-ncmoe --n-cpu-moe LLAMA_ARG_N_CPU_MOE
-ncffn --n-cpu-ffn LLAMA_ARG_N_CPU_FFN
-cms --checkpoint-min-step LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT
-ncmoed --n-cpu-moe-draft --spec-draft-ncmoe --spec-draft-n-cpu-moe LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE
--spec-draft-n-max LLAMA_ARG_SPEC_DRAFT_N_MAX
--spec-ngram-mod-n-min
--spec-ngram-mod-n-max
"""
_FROM_ONE = """
--spec-ngram-mod-n-match
--spec-ngram-simple-size-n
--spec-ngram-simple-size-m
--spec-ngram-simple-min-hits
--spec-ngram-map-k-size-n
--spec-ngram-map-k-size-m
--spec-ngram-map-k-min-hits
--spec-ngram-map-k4v-size-n
--spec-ngram-map-k4v-size-m
--spec-ngram-map-k4v-min-hits
"""
_PRIORITIES = """
--prio-batch
--spec-draft-prio --prio-draft
--spec-draft-prio-batch --prio-batch-draft
"""
_DECIMAL = """
--video-fps LLAMA_ARG_VIDEO_FPS
--spec-synth-len LLAMA_ARG_SPEC_SYNTH_LEN
--spec-draft-p-split --draft-p-split LLAMA_ARG_SPEC_DRAFT_P_SPLIT
--spec-draft-p-min --draft-p-min LLAMA_ARG_SPEC_DRAFT_P_MIN
"""
_LAYERS = """
-ngl --gpu-layers --n-gpu-layers LLAMA_ARG_N_GPU_LAYERS
-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl LLAMA_ARG_N_GPU_LAYERS_DRAFT
"""
_NUMBERS = """
-ts --tensor-split LLAMA_ARG_TENSOR_SPLIT
--spec-synth-rates LLAMA_ARG_SPEC_SYNTH_RATES
"""
_WORDS = """
-lm --load-mode LLAMA_ARG_LOAD_MODE = auto none mmap mlock mmap+mlock dio
-lzm --lazy-mode LLAMA_ARG_LAZY_MODE = on auto off
--numa LLAMA_ARG_NUMA = distribute isolate numactl
-sm --split-mode LLAMA_ARG_SPLIT_MODE = none layer row tensor
--pooling LLAMA_ARG_POOLING = none mean cls last rank
--spec-draft-sampling LLAMA_ARG_SPEC_DRAFT_SAMPLING = greedy probabilistic
"""
_CACHE_TYPES = """
-ctkd --cache-type-k-draft --spec-draft-type-k LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K
-ctvd --cache-type-v-draft --spec-draft-type-v LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V
"""
_TEXTS = """
-C --cpu-mask
-Cr --cpu-range
-Cb --cpu-mask-batch
-Crb --cpu-range-batch
-dev --device LLAMA_ARG_DEVICE
-ot --override-tensor LLAMA_ARG_OVERRIDE_TENSOR
-hft --hf-token
-hff --hf-file LLAMA_ARG_HF_FILE
--video-ffmpeg-dir LLAMA_ARG_VIDEO_FFMPEG_DIR
--media-path
-mmdev --mmproj-device
--ui-config --webui-config LLAMA_ARG_UI_CONFIG
--ui-config-file --webui-config-file LLAMA_ARG_UI_CONFIG_FILE
--tools-runtime LLAMA_ARG_TOOLS_RUNTIME
-Cd --cpu-mask-draft --spec-draft-cpu-mask
-Crd --cpu-range-draft --spec-draft-cpu-range
-Cbd --cpu-mask-batch-draft --spec-draft-cpu-mask-batch
-otd --override-tensor-draft --spec-draft-override-tensor
-devd --device-draft --spec-draft-device
"""


_FIXED = (  # may only say what holds anyway
    Flag(
        "ignored.jinja",
        (),
        Kind.CHOICE,
        "LLAMA_ARG_JINJA",
        choices={word: True for word, value in ON_OFF_AUTO.items() if value},
        complaint="the engine renders chats with Jinja only",
    ),
    Flag(
        "ignored.sleep",
        ("--sleep-idle-seconds",),
        Kind.CHOICE,
        choices={"-1": -1},
        complaint="the engine does not unload its model; only -1 is possible here",
    ),
    Flag(
        "ignored.budget",
        ("--reasoning-budget",),
        Kind.CHOICE,
        "LLAMA_ARG_THINK_BUDGET",
        choices={"-1": -1},
        complaint="the engine cannot limit thoughts; only -1 is possible here",
    ),
    Flag(
        "ignored.spec_type",
        ("--spec-type",),
        Kind.CHOICE,
        "LLAMA_ARG_SPEC_TYPE",
        choices={"none": "none"},
        complaint="the engine has no draft models; only none is possible here",
    ),
)


def _layers(text: str) -> object:
    """How many layers go to a GPU: a number, "auto" or "all"."""
    return text if text in ("auto", "all") else whole(text)


def _options(table: str, kind: Kind, **rules: Any) -> Iterator[Flag]:
    for line in table.strip().splitlines():
        words = line.split()
        variable = words.pop() if words[-1].startswith("LLAMA_ARG_") else ""
        yield _option(words, kind, variable, **rules)


def _option(words: Sequence[str], kind: Kind, variable: str, **rules: Any) -> Flag:
    names = tuple(words[: words.index("/")] if "/" in words else words)
    return Flag(
        f"ignored.{names[0].lstrip('-')}", names, kind, variable, negative=tuple(words[len(names) + 1 :]), **rules
    )


def _choices() -> Iterator[Flag]:
    for line in _WORDS.strip().splitlines():
        names, _, words = line.partition(" = ")
        yield from _options(names, Kind.CHOICE, choices={word: word for word in words.split()})


HARMLESS = (
    *_options(_SWITCHES, Kind.SWITCH),
    *_options(_WHOLE, Kind.INT),
    *_options(_COUNTS, Kind.INT, low=0),
    *_options(_FROM_ONE, Kind.INT, low=1),
    *_options("--prio", Kind.INT, low=-1, high=3),
    *_options(_PRIORITIES, Kind.INT, low=0, high=3),
    *_options(_DECIMAL, Kind.FLOAT),
    *_options(_LAYERS, Kind.TEXT, read=_layers),
    *_options(_NUMBERS, Kind.TEXT, read=numbers),
    *_choices(),
    *_options(_CACHE_TYPES, Kind.CHOICE, choices={kind: kind for kind in KV_TYPES}),
    *_options("--log-colors LLAMA_ARG_LOG_COLORS", Kind.CHOICE, choices=ON_OFF_AUTO),
    *_options(_TEXTS, Kind.TEXT),
    *_FIXED,
    Flag(
        "ignored.dt",
        ("-dt", "--defrag-thold"),
        Kind.TEXT,
        "LLAMA_ARG_DEFRAG_THOLD",
        warning="deprecated: there is no defragmentation any more",
    ),
)
