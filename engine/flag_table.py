"""The table of llama-server's flags that mean something here, those that are harmless, and those that are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from .kv_size import KV_TYPES

__all__ = ["FLAGS", "HARMLESS", "REFUSED", "Flag", "Kind"]


class Kind(StrEnum):
    """How a flag's word becomes its value."""

    INT = "int"
    FLOAT = "float"
    TEXT = "text"
    SWITCH = "switch"
    CHOICE = "choice"
    LIST = "list"  # comma-separated, adds up
    WORDS = "words"  # one word each time, adds up


@dataclass(frozen=True, slots=True)
class Flag:
    """One option. ``field`` is where its value goes (``group.name``); ``negative`` names switch it off."""

    field: str
    names: tuple[str, ...]
    kind: Kind = Kind.INT
    env: str = ""
    help: str = ""
    negative: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    choices: Mapping[str, object] = dataclasses.field(default_factory=dict)
    complaint: str = ""
    warning: str = ""


ON_OFF = {
    "on": True,
    "off": False,
    "enabled": True,
    "disabled": False,
    "true": True,
    "false": False,
    "1": True,
    "0": False,
}
KV_CHOICES = {name: name for name in KV_TYPES}
FLASH = {
    "on": "on",
    "off": "off",
    "auto": "auto",
    "enabled": "on",
    "disabled": "off",
    "1": "on",
    "0": "off",
    "-1": "auto",
}

SLOTS = (
    Flag("model", ("-m", "--model"), Kind.TEXT, "LLAMA_ARG_MODEL", "model file (GGUF); default: the bundled one"),
    Flag(
        "launch.ctx_size",
        ("-c", "--ctx-size"),
        Kind.INT,
        "LLAMA_ARG_CTX_SIZE",
        "context of all slots together, in tokens",
    ),
    Flag(
        "launch.parallel",
        ("-np", "--parallel"),
        Kind.INT,
        "LLAMA_ARG_N_PARALLEL",
        "slots; -1 = automatic: 4 in one pool",
    ),
    Flag(
        "launch.kv_unified",
        ("-kvu", "--kv-unified"),
        Kind.SWITCH,
        "LLAMA_ARG_KV_UNIFIED",
        "one pool of cells for all slots",
        ("-no-kvu", "--no-kv-unified"),
    ),
    Flag(
        "launch.kv_unified_per_slot",
        ("--kv-unified-per-slot",),
        Kind.INT,
        "LLAMA_ARG_KV_UNIFIED_PER_SLOT",
        "most tokens of one slot",
    ),
    Flag("launch.batch", ("-b", "--batch-size"), Kind.INT, "LLAMA_ARG_BATCH", "most tokens of one decode call"),
    Flag("launch.ubatch", ("-ub", "--ubatch-size"), Kind.INT, "LLAMA_ARG_UBATCH", "most tokens computed at once"),
    Flag(
        "launch.fit",
        ("-fit", "--fit"),
        Kind.CHOICE,
        "LLAMA_ARG_FIT",
        "let an unset -c follow model and memory",
        choices=ON_OFF,
    ),
    Flag(
        "launch.fit_ctx", ("-fitc", "--fit-ctx"), Kind.INT, "LLAMA_ARG_FIT_CTX", "smallest context --fit goes down to"
    ),
    Flag("launch.fit_target", ("-fitt", "--fit-target"), Kind.INT, "LLAMA_ARG_FIT_TARGET", "MiB to leave free"),
    Flag(
        "launch.type_k",
        ("-ctk", "--cache-type-k"),
        Kind.TEXT,
        "LLAMA_ARG_CACHE_TYPE_K",
        f"type of K: {', '.join(KV_TYPES)}",
    ),
    Flag("launch.type_v", ("-ctv", "--cache-type-v"), Kind.TEXT, "LLAMA_ARG_CACHE_TYPE_V", "type of V: the same"),
    Flag(
        "launch.flash_attn",
        ("-fa", "--flash-attn"),
        Kind.CHOICE,
        "LLAMA_ARG_FLASH_ATTN",
        "on, off or auto",
        choices=FLASH,
    ),
    Flag(
        "cont_batching",
        ("-cb", "--cont-batching"),
        Kind.SWITCH,
        "LLAMA_ARG_CONT_BATCHING",
        "prompts may join while others generate",
        ("-nocb", "--no-cont-batching"),
    ),
    Flag(
        "context_shift",
        ("--context-shift",),
        Kind.SWITCH,
        "LLAMA_ARG_CONTEXT_SHIFT",
        "discard old tokens when a slot is full",
        ("--no-context-shift",),
    ),
    Flag(
        "n_predict",
        ("-n", "--predict", "--n-predict"),
        Kind.INT,
        "LLAMA_ARG_N_PREDICT",
        "most tokens of an answer; -1 = no limit",
    ),
    Flag("n_keep", ("--keep",), Kind.INT, "", "tokens kept by a context shift; -1 = the prompt"),
    Flag("reverse_prompt", ("-r", "--reverse-prompt"), Kind.WORDS, "", "stop string of requests that give none"),
)

REUSE = (
    Flag(
        "slot_prompt_similarity",
        ("-sps", "--slot-prompt-similarity"),
        Kind.FLOAT,
        "",
        "least common prefix for choosing a slot by its content; 0 = off",
    ),
    Flag(
        "cache_prompt",
        ("--cache-prompt",),
        Kind.SWITCH,
        "LLAMA_ARG_CACHE_PROMPT",
        "reuse a slot's tokens",
        ("--no-cache-prompt",),
    ),
    Flag(
        "cache_reuse",
        ("--cache-reuse",),
        Kind.INT,
        "LLAMA_ARG_CACHE_REUSE",
        "smallest chunk reused by shifting; 0 = off",
    ),
    Flag(
        "cache_ram",
        ("-cram", "--cache-ram"),
        Kind.INT,
        "LLAMA_ARG_CACHE_RAM",
        "MiB for old prompts; -1 = no limit, 0 = off",
    ),
    Flag(
        "cache_idle_slots",
        ("--cache-idle-slots",),
        Kind.SWITCH,
        "LLAMA_ARG_CACHE_IDLE_SLOTS",
        "copy idle slots to that store",
        ("--no-cache-idle-slots",),
    ),
)

HTTP = (
    Flag("http.host", ("--host",), Kind.TEXT, "LLAMA_ARG_HOST", "address to listen on"),
    Flag("http.port", ("--port",), Kind.INT, "LLAMA_ARG_PORT", "port to listen on", low=0, high=65535),
    Flag("http.api_prefix", ("--api-prefix",), Kind.TEXT, "LLAMA_ARG_API_PREFIX", "prefix of every route"),
    Flag("http.alias", ("-a", "--alias"), Kind.TEXT, "LLAMA_ARG_ALIAS", "names of the model"),
    Flag("http.slots", ("--slots",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_SLOTS", "GET /slots", ("--no-slots",)),
    Flag("http.metrics", ("--metrics",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_METRICS", "GET /metrics"),
    Flag("http.props", ("--props",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_PROPS", "POST /props"),
    Flag("http.slot_save_path", ("--slot-save-path",), Kind.TEXT, "", "folder of slot files; enables POST /slots/ID"),
    Flag("http.api_keys", ("--api-key",), Kind.LIST, "LLAMA_API_KEY", "keys, comma-separated"),
    Flag("http.api_key_file", ("--api-key-file",), Kind.TEXT, "LLAMA_ARG_API_KEY_FILE", "file with one key a line"),
    Flag("http.timeout", ("-to", "--timeout"), Kind.INT, "LLAMA_ARG_TIMEOUT", "socket timeout in seconds"),
    Flag(
        "http.sse_ping_interval",
        ("--sse-ping-interval",),
        Kind.INT,
        "LLAMA_ARG_SSE_PING_INTERVAL",
        "seconds between comment lines of silent streams",
    ),
    Flag("http.chat_template", ("--chat-template",), Kind.TEXT, "LLAMA_ARG_CHAT_TEMPLATE", "Jinja chat template"),
    Flag("http.cors_origins", ("--cors-origins",), Kind.TEXT, "", "origins allowed by CORS"),
)

LOG = (
    Flag(
        "verbosity",
        ("-lv", "--verbosity", "--log-verbosity"),
        Kind.INT,
        "LLAMA_ARG_LOG_VERBOSITY",
        "0 output, 1 error, 2 warning, 3 info, 4 trace, 5 debug",
    ),
    Flag("log_prefix", ("--log-prefix",), Kind.SWITCH, "LLAMA_ARG_LOG_PREFIX", "level letters", ("--no-log-prefix",)),
    Flag(
        "log_timestamps",
        ("--log-timestamps",),
        Kind.SWITCH,
        "LLAMA_ARG_LOG_TIMESTAMPS",
        "times in the log",
        ("--no-log-timestamps",),
    ),
    Flag("log_jsonl", ("--log-jsonl",), Kind.SWITCH, "LLAMA_ARG_LOG_JSONL", "log lines as JSON"),
    Flag("log_file", ("--log-file",), Kind.TEXT, "LLAMA_ARG_LOG_FILE", "log to a file"),
)

SAMPLING = (
    Flag("sampling.temperature", ("--temp", "--temperature"), Kind.FLOAT, "", "0 = greedy"),
    Flag("sampling.top_k", ("--top-k",), Kind.INT, "LLAMA_ARG_TOP_K", "best tokens kept; 0 = off"),
    Flag("sampling.top_p", ("--top-p",), Kind.FLOAT, "", "share of probability kept"),
    Flag("sampling.min_p", ("--min-p",), Kind.FLOAT, "", "least probability beside the best"),
    Flag("sampling.typical_p", ("--typical", "--typical-p"), Kind.FLOAT, "", "locally typical sampling"),
    Flag("sampling.seed", ("-s", "--seed"), Kind.INT, "", "-1 = random"),
    Flag("sampling.repeat_last_n", ("--repeat-last-n",), Kind.INT, "", "tokens looked at by penalties", low=0),
    Flag("sampling.repeat_penalty", ("--repeat-penalty",), Kind.FLOAT, "", "1 = off"),
    Flag("sampling.presence_penalty", ("--presence-penalty",), Kind.FLOAT, "", "0 = off"),
    Flag("sampling.frequency_penalty", ("--frequency-penalty",), Kind.FLOAT, "", "0 = off"),
    Flag("sampling.mirostat", ("--mirostat",), Kind.INT, "", "0, 1 or 2", low=0, high=2),
    Flag("sampling.mirostat_eta", ("--mirostat-lr",), Kind.FLOAT, "", "how fast Mirostat learns"),
    Flag("sampling.mirostat_tau", ("--mirostat-ent",), Kind.FLOAT, "", "entropy that Mirostat aims at"),
    Flag("sampling.top_n_sigma", ("--top-nsigma", "--top-n-sigma"), Kind.FLOAT, "", "deviations kept; negative = off"),
    Flag("sampling.xtc_probability", ("--xtc-probability",), Kind.FLOAT, "", "how often XTC acts; 0 = off"),
    Flag("sampling.xtc_threshold", ("--xtc-threshold",), Kind.FLOAT, "", "least probability of what XTC removes"),
    Flag("sampling.dynatemp_range", ("--dynatemp-range",), Kind.FLOAT, "", "how far the temperature moves; 0 = off"),
    Flag("sampling.dynatemp_exponent", ("--dynatemp-exp",), Kind.FLOAT, "", "how it moves with the entropy"),
    Flag("sampling.dry_multiplier", ("--dry-multiplier",), Kind.FLOAT, "", "0 = off"),
    Flag("sampling.dry_base", ("--dry-base",), Kind.FLOAT, "", "growth of DRY's penalty"),
    Flag("sampling.dry_allowed_length", ("--dry-allowed-length",), Kind.INT, "", "repetition without a penalty"),
    Flag("sampling.dry_penalty_last_n", ("--dry-penalty-last-n",), Kind.INT, "", "tokens looked at by DRY", low=0),
    Flag("sampling.ignore_eos", ("--ignore-eos",), Kind.SWITCH, "", "never end by itself"),
)

OWN = (
    Flag(
        "batching",
        ("--batching",),
        Kind.CHOICE,
        "",
        "continuous, or static: the old way",
        choices={"continuous": "continuous", "static": "static"},
    ),
    Flag(
        "pace", ("--pace",), Kind.TEXT, "SLOTVIEW_PACE", "device profile that times the steps; off = as fast as it goes"
    ),
    Flag(
        "threads", ("-t", "--threads"), Kind.INT, "LLAMA_ARG_THREADS", "threads of the matrix products; -1 = all cores"
    ),
)


def _ignored(*names: str, switch: bool = False) -> Flag:
    return Flag(f"ignored.{names[0].lstrip('-')}", names, Kind.SWITCH if switch else Kind.TEXT)


HARMLESS = (
    _ignored("-tb", "--threads-batch"),
    _ignored("--threads-http"),
    _ignored("-ngl", "--gpu-layers", "--n-gpu-layers"),
    _ignored("--mlock", switch=True),
    _ignored("--mmap", "--no-mmap", switch=True),
    _ignored("--warmup", "--no-warmup", switch=True),
    _ignored("--ui", "--no-ui", "--webui", "--no-webui", switch=True),
    _ignored("--swa-full", switch=True),
    _ignored("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"),
    _ignored("-cms", "--checkpoint-min-step"),
    _ignored("--jinja", "--no-jinja", switch=True),
    _ignored("--perf", "--no-perf", switch=True),
    _ignored("--numa"),
    _ignored("--prio"),
    _ignored("--poll"),
    _ignored("--log-colors"),
    _ignored("--reasoning-format"),
    Flag(
        "ignored.dt", ("-dt", "--defrag-thold"), Kind.TEXT, warning="deprecated: there is no defragmentation any more"
    ),
)

FLAGS: tuple[Flag, ...] = (*SLOTS, *REUSE, *HTTP, *LOG, *SAMPLING, *OWN, *HARMLESS)

_NO_ADAPTERS = "the engine has no LoRA adapters"
_NO_DRAFTS = "the engine has no draft models"
_NO_GRAMMAR = "the engine has no grammars"
_NO_DOWNLOAD = "the engine loads local files only; give -m FILE"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("--lora", "--lora-scaled"), _NO_ADAPTERS),
    **dict.fromkeys(("-md", "--model-draft", "--draft", "--draft-max", "--draft-min"), _NO_DRAFTS),
    **dict.fromkeys(("--grammar", "--grammar-file", "-j", "--json-schema"), _NO_GRAMMAR),
    **dict.fromkeys(("-hf", "-hfr", "--hf-repo", "-mu", "--model-url"), _NO_DOWNLOAD),
    **dict.fromkeys(("--embedding", "--embeddings", "--rerank", "--reranking"), "the engine only completes text"),
    **dict.fromkeys(("-mm", "--mmproj"), "the engine reads text only"),
    **dict.fromkeys(("--ssl-key-file", "--ssl-cert-file"), "put a proxy in front for TLS"),
    "--sleep-idle-seconds": "the engine does not unload its model",
    "--models-dir": "the engine serves one model, not a router",
}
