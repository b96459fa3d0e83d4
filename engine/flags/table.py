"""Tables of llama-server's flags: those that mean something here, those that are harmless, those that are refused."""

from __future__ import annotations

from collections.abc import Mapping

from ..context.kv_size import KV_TYPES
from ..model.sampling_params import sampler_letters
from .flag import ON_OFF, ON_OFF_AUTO, Flag, Kind
from .harmless import HARMLESS
from .words import (
    dry_base,
    effort,
    file_text,
    first_whole,
    hosts,
    json_object,
    route_prefix,
    samplers,
    seed,
    temperature,
    token_bias,
)

__all__ = ["FLAGS", "HARMLESS", "OWN", "REFUSED", "REFUSED_VARIABLES"]

FLASH = {word: {True: "on", False: "off", None: "auto"}[value] for word, value in ON_OFF_AUTO.items()}

SMALLEST, LARGEST = 2.0**-127, 2.0**127  # what a float32 and its reciprocal can hold

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
        "number of slots; -1 = automatic: 4 that share one pool",
    ),
    Flag(
        "launch.kv_unified",
        ("-kvu", "--kv-unified"),
        Kind.SWITCH,
        "LLAMA_ARG_KV_UNIFIED",
        "one pool of KV cells for all slots",
        ("-no-kvu", "--no-kv-unified"),
    ),
    Flag(
        "launch.kv_unified_per_slot",
        ("--kv-unified-per-slot",),
        Kind.INT,
        "LLAMA_ARG_KV_UNIFIED_PER_SLOT",
        "most tokens that one slot may hold",
    ),
    Flag("launch.batch", ("-b", "--batch-size"), Kind.INT, "LLAMA_ARG_BATCH", "most tokens in one decode call"),
    Flag("launch.ubatch", ("-ub", "--ubatch-size"), Kind.INT, "LLAMA_ARG_UBATCH", "most tokens computed at once"),
    Flag(
        "launch.fit",
        ("-fit", "--fit"),
        Kind.CHOICE,
        "LLAMA_ARG_FIT",
        "without -c, fit the context to model and memory",
        choices=ON_OFF,
    ),
    Flag(
        "launch.fit_ctx",
        ("-fitc", "--fit-ctx"),
        Kind.INT,
        "LLAMA_ARG_FIT_CTX",
        "smallest context that --fit may choose",
    ),
    Flag(
        "launch.fit_target",
        ("-fitt", "--fit-target"),
        Kind.TEXT,
        "LLAMA_ARG_FIT_TARGET",
        "MiB of memory to leave free; of a list the first",
        read=first_whole,
    ),
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
        "let prompts join while other slots generate",
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
        "most tokens in an answer; -1 = no limit",
    ),
    Flag("n_keep", ("--keep",), Kind.INT, "", "tokens that a context shift keeps; -1 = the whole prompt"),
    Flag("reverse_prompt", ("-r", "--reverse-prompt"), Kind.WORDS, "", "stop string for requests without one"),
    Flag(
        "escape",
        ("-e", "--escape"),
        Kind.SWITCH,
        "",
        "\\n, \\t, \\x41 … in --reverse-prompt and --dry-sequence-breaker mean characters",
        ("--no-escape",),
    ),
    Flag("special", ("-sp", "--special"), Kind.SWITCH, "", "show special tokens in answers"),
)

REUSE = (
    Flag(
        "slot_prompt_similarity",
        ("-sps", "--slot-prompt-similarity"),
        Kind.FLOAT,
        "",
        "share of a prompt that a slot must hold to be chosen for it; 0 = off",
    ),
    Flag(
        "cache_prompt",
        ("--cache-prompt",),
        Kind.SWITCH,
        "LLAMA_ARG_CACHE_PROMPT",
        "reuse the tokens that a slot holds",
        ("--no-cache-prompt",),
    ),
    Flag(
        "cache_reuse",
        ("--cache-reuse",),
        Kind.INT,
        "LLAMA_ARG_CACHE_REUSE",
        "smallest chunk to reuse by shifting; 0 = off",
    ),
    Flag(
        "cache_ram",
        ("-cram", "--cache-ram"),
        Kind.INT,
        "LLAMA_ARG_CACHE_RAM",
        "MiB of memory for old prompts; -1 = no limit, 0 = off",
    ),
    Flag(
        "cache_idle_slots",
        ("--cache-idle-slots",),
        Kind.SWITCH,
        "LLAMA_ARG_CACHE_IDLE_SLOTS",
        "keep the prompts of idle slots there, too",
        ("--no-cache-idle-slots",),
    ),
)

HTTP = (
    Flag("http.hosts", ("--host",), Kind.TEXT, "LLAMA_ARG_HOST", "addresses to listen on, comma-separated", read=hosts),
    Flag("http.port", ("--port",), Kind.INT, "LLAMA_ARG_PORT", "port to listen on", low=0, high=65535),
    Flag(
        "http.api_prefix",
        ("--api-prefix",),
        Kind.TEXT,
        "LLAMA_ARG_API_PREFIX",
        "prefix of every route, such as /llm",
        read=route_prefix,
    ),
    Flag("http.aliases", ("-a", "--alias"), Kind.LIST, "LLAMA_ARG_ALIAS", "names of the model", read=str.strip),
    Flag("http.slots", ("--slots",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_SLOTS", "serve GET /slots", ("--no-slots",)),
    Flag("http.metrics", ("--metrics",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_METRICS", "serve GET /metrics"),
    Flag("http.props", ("--props",), Kind.SWITCH, "LLAMA_ARG_ENDPOINT_PROPS", "serve POST /props"),
    Flag("http.slot_save_path", ("--slot-save-path",), Kind.TEXT, "", "folder for slot files; enables POST /slots/ID"),
    Flag("http.api_keys", ("--api-key",), Kind.LIST, "LLAMA_API_KEY", "keys, comma-separated"),
    Flag("http.api_key_file", ("--api-key-file",), Kind.TEXT, "LLAMA_ARG_API_KEY_FILE", "file with one key per line"),
    Flag("http.timeout", ("-to", "--timeout"), Kind.INT, "LLAMA_ARG_TIMEOUT", "socket timeout in seconds"),
    Flag(
        "http.sse_ping_interval",
        ("--sse-ping-interval",),
        Kind.INT,
        "LLAMA_ARG_SSE_PING_INTERVAL",
        "seconds between comments in a silent stream",
    ),
    Flag("http.chat_template", ("--chat-template",), Kind.TEXT, "LLAMA_ARG_CHAT_TEMPLATE", "Jinja chat template"),
    Flag(
        "http.chat_template",
        ("--chat-template-file",),
        Kind.TEXT,
        "LLAMA_ARG_CHAT_TEMPLATE_FILE",
        "file with the chat template",
        read=file_text,
    ),
    Flag(
        "http.chat_template_kwargs",
        ("--chat-template-kwargs",),
        Kind.OBJECT,
        "LLAMA_ARG_CHAT_TEMPLATE_KWARGS",
        "JSON object of variables for the template",
        read=json_object,
    ),
    Flag(
        "http.reasoning_effort",
        ("--reasoning-effort",),
        Kind.TEXT,
        "LLAMA_ARG_REASONING_EFFORT",
        "level for the template; default = the template's own",
        read=effort,
    ),
    Flag(
        "http.reasoning",
        ("-rea", "--reasoning"),
        Kind.CHOICE,
        "LLAMA_ARG_REASONING",
        "on, off or auto: whether the template lets the model think",
        choices=ON_OFF_AUTO,
    ),
    Flag(
        "http.reasoning_format",
        ("--reasoning-format",),
        Kind.CHOICE,
        "LLAMA_ARG_THINK",
        "format of thoughts shown for requests that name none",
        choices={name: name for name in ("none", "auto", "deepseek", "deepseek-legacy")},
    ),
    Flag(
        "http.reasoning_preserve",
        ("--reasoning-preserve",),
        Kind.SWITCH,
        "LLAMA_ARG_REASONING_PRESERVE",
        "keep the thoughts of earlier answers in the prompt",
        ("--no-reasoning-preserve",),
    ),
    Flag(
        "http.prefill_assistant",
        ("--prefill-assistant",),
        Kind.SWITCH,
        "LLAMA_ARG_PREFILL_ASSISTANT",
        "continue the last message if it is the assistant's",
        ("--no-prefill-assistant",),
    ),
    Flag("http.tags", ("--tags",), Kind.LIST, "LLAMA_ARG_TAGS", "tags of the model", read=str.strip),
    Flag("http.cors_origins", ("--cors-origins",), Kind.TEXT, "LLAMA_ARG_CORS_ORIGINS", "origins allowed by CORS"),
    Flag("http.cors_methods", ("--cors-methods",), Kind.TEXT, "LLAMA_ARG_CORS_METHODS", "methods allowed by CORS"),
    Flag("http.cors_headers", ("--cors-headers",), Kind.TEXT, "LLAMA_ARG_CORS_HEADERS", "headers allowed by CORS"),
    Flag(
        "http.cors_credentials",
        ("--cors-credentials",),
        Kind.SWITCH,
        "LLAMA_ARG_CORS_CREDENTIALS",
        "whether CORS allows credentials",
        ("--no-cors-credentials",),
    ),
)

LOG = (
    Flag(
        "verbosity",
        ("-lv", "--verbosity", "--log-verbosity"),
        Kind.INT,
        "LLAMA_ARG_LOG_VERBOSITY",
        "0 output, 1 error, 2 warning, 3 info, 4 trace, 5 debug",
    ),
    Flag(
        "log_prefix",
        ("--log-prefix",),
        Kind.SWITCH,
        "LLAMA_ARG_LOG_PREFIX",
        "print level letters in the log",
        ("--no-log-prefix",),
    ),
    Flag(
        "log_timestamps",
        ("--log-timestamps",),
        Kind.SWITCH,
        "LLAMA_ARG_LOG_TIMESTAMPS",
        "print times in the log",
        ("--no-log-timestamps",),
    ),
    Flag("verbose", ("-v", "--verbose", "--log-verbose"), Kind.SWITCH, "", "log everything"),
    Flag("log_disable", ("--log-disable",), Kind.SWITCH, "", "log nothing"),
    Flag(
        "log_jsonl",
        ("--log-jsonl",),
        Kind.SWITCH,
        "LLAMA_ARG_LOG_JSONL",
        "write log lines as JSON",
        ("--no-log-jsonl",),
    ),
    Flag("log_file", ("--log-file",), Kind.TEXT, "LLAMA_ARG_LOG_FILE", "log to a file"),
    Flag("warmup", ("--warmup",), Kind.SWITCH, "", "only changes the number of graphs in the log", ("--no-warmup",)),
)

SAMPLING = (
    Flag(
        "sampling.temperature",
        ("--temp", "--temperature"),
        Kind.TEXT,
        "LLAMA_ARG_TEMPERATURE",
        "0 = greedy",
        read=temperature,
    ),
    Flag("sampling.top_k", ("--top-k",), Kind.INT, "LLAMA_ARG_TOP_K", "best tokens kept; 0 = off"),
    Flag("sampling.top_p", ("--top-p",), Kind.FLOAT, "LLAMA_ARG_TOP_P", "share of probability kept"),
    Flag(
        "sampling.min_p",
        ("--min-p",),
        Kind.FLOAT,
        "LLAMA_ARG_MIN_P",
        "smallest probability kept, relative to the best token's",
    ),
    Flag("sampling.typical_p", ("--typical", "--typical-p"), Kind.FLOAT, "", "locally typical sampling"),
    Flag("sampling.seed", ("-s", "--seed"), Kind.TEXT, "", "-1 = random", read=seed),
    Flag("sampling.repeat_last_n", ("--repeat-last-n",), Kind.INT, "", "last tokens that penalties look at", low=0),
    Flag(
        "sampling.repeat_penalty",
        ("--repeat-penalty",),
        Kind.FLOAT,
        "LLAMA_ARG_REPEAT_PENALTY",
        "1 = off",
        low=SMALLEST,
        high=LARGEST,
        complaint="repeat-penalty must be finite and greater than 0",
    ),
    Flag(
        "sampling.presence_penalty",
        ("--presence-penalty",),
        Kind.FLOAT,
        "LLAMA_ARG_PRESENCE_PENALTY",
        "0 = off",
        low=-LARGEST,
        high=LARGEST,
        complaint="presence-penalty must be finite",
    ),
    Flag(
        "sampling.frequency_penalty",
        ("--frequency-penalty",),
        Kind.FLOAT,
        "LLAMA_ARG_FREQUENCY_PENALTY",
        "0 = off",
        low=-LARGEST,
        high=LARGEST,
        complaint="frequency-penalty must be finite",
    ),
    Flag("sampling.mirostat", ("--mirostat",), Kind.INT, "", "0, 1 or 2", low=0, high=2),
    Flag("sampling.mirostat_eta", ("--mirostat-lr",), Kind.FLOAT, "", "learning rate of Mirostat"),
    Flag("sampling.mirostat_tau", ("--mirostat-ent",), Kind.FLOAT, "", "target entropy of Mirostat"),
    Flag("sampling.top_n_sigma", ("--top-nsigma", "--top-n-sigma"), Kind.FLOAT, "", "deviations kept; negative = off"),
    Flag("sampling.xtc_probability", ("--xtc-probability",), Kind.FLOAT, "", "how often XTC acts; 0 = off"),
    Flag("sampling.xtc_threshold", ("--xtc-threshold",), Kind.FLOAT, "", "smallest probability that XTC removes"),
    Flag("sampling.dynatemp_range", ("--dynatemp-range",), Kind.FLOAT, "", "how far the temperature may vary; 0 = off"),
    Flag(
        "sampling.dynatemp_exponent",
        ("--dynatemp-exp",),
        Kind.FLOAT,
        "",
        "exponent by which it varies with the entropy",
    ),
    Flag("sampling.dry_multiplier", ("--dry-multiplier",), Kind.FLOAT, "", "0 = off"),
    Flag("sampling.dry_base", ("--dry-base",), Kind.TEXT, "", "growth of DRY's penalty, at least 1", read=dry_base),
    Flag(
        "sampling.dry_allowed_length", ("--dry-allowed-length",), Kind.INT, "", "longest repetition without a penalty"
    ),
    Flag(
        "sampling.dry_penalty_last_n", ("--dry-penalty-last-n",), Kind.INT, "", "last tokens that DRY looks at", low=0
    ),
    Flag(
        "sampling.dry_sequence_breakers",
        ("--dry-sequence-breaker",),
        Kind.WORDS,
        "",
        "text that breaks a repetition, in place of the defaults; none = nothing does",
    ),
    Flag("sampling.adaptive_target", ("--adaptive-target",), Kind.FLOAT, "", "target probability; negative = off"),
    Flag("sampling.adaptive_decay", ("--adaptive-decay",), Kind.FLOAT, "", "how slowly that target adapts"),
    Flag("sampling.samplers", ("--samplers",), Kind.TEXT, "", "samplers in order, separated by ;", read=samplers),
    Flag(
        "sampling.samplers",
        ("--sampler-seq", "--sampling-seq"),
        Kind.TEXT,
        "",
        "the same, as letters: edskypmxt",
        read=sampler_letters,
    ),
    Flag(
        "sampling.logit_bias",
        ("-l", "--logit-bias"),
        Kind.WORDS,
        "",
        "15043+1 makes a token more likely, 15043-inf impossible",
        read=token_bias,
    ),
    Flag("sampling.ignore_eos", ("--ignore-eos",), Kind.SWITCH, "", "ignore the model's end of text"),
)

OWN = (
    Flag(
        "batching",
        ("--batching",),
        Kind.CHOICE,
        "",
        "continuous, or static: each batch of requests is answered in full before the next begins",
        choices={"continuous": "continuous", "static": "static"},
    ),
    Flag(
        "pace",
        ("--pace",),
        Kind.TEXT,
        "SLOTVIEW_PACE",
        "device whose timing to imitate: m4-9b, or one of the configuration file; off = as fast as possible",
    ),
    Flag("threads", ("-t", "--threads"), Kind.INT, "LLAMA_ARG_THREADS", "threads for matrix products; -1 = automatic"),
)


FLAGS: tuple[Flag, ...] = (*SLOTS, *REUSE, *HTTP, *LOG, *SAMPLING, *OWN, *HARMLESS)

_REASONS = {
    "the engine has no LoRA adapters": "--lora --lora-scaled",
    "the engine has no control vectors": "--control-vector --control-vector-scaled --control-vector-layer-range",
    "the engine has no draft models": "-md --model-draft --spec-draft-model -hfd -hfrd --hf-repo-draft --spec-draft-hf"
    " --spec-default -lcs --lookup-cache-static -lcd --lookup-cache-dynamic --draft --draft-n --draft-max"
    " --draft-min --draft-n-min --spec-ngram-size-n --spec-ngram-size-m --spec-ngram-min-hits",
    "the engine has no grammars": "--grammar --grammar-file -j --json-schema -jf --json-schema-file",
    "the engine loads local files only; give -m FILE": "-hf -hfr --hf-repo -mu --model-url -dr --docker-repo"
    " --embd-gemma-default --fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec"
    " --fim-qwen-14b-spec --fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default"
    " --vision-gemma-4b-default --vision-gemma-12b-default",
    "the engine only completes text": "--embedding --embeddings --rerank --reranking",
    "the engine reads text only": "-mm --mmproj -mmu --mmproj-url",
    "the engine takes a model as its file describes it": "--override-kv --rope-scaling --rope-scale --rope-freq-base"
    " --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast",
    "the engine computes in its own process": "--rpc",
    "the engine has no tools": "--tools --mcp-servers-config --mcp-servers-json -ag --agent"
    " --ui-mcp-proxy --webui-mcp-proxy",
    "the engine cannot limit thoughts": "--reasoning-budget-message",
    "the engine always separates thoughts from answers": "--skip-chat-parsing",
    "the engine renders chats with Jinja only": "--no-jinja",
    "the engine serves no files": "--path",
    "the engine writes no prompts to files": "--log-prompts-dir",
    "for TLS, put a proxy in front": "--ssl-key-file --ssl-cert-file",
    "the engine serves one model, not a router": "--models-dir --models-preset",
    "llama-server has --load-mode in its place": "--mmap --no-mmap --mlock",
    "that is about llama.cpp itself; ask its llama-server": "--list-devices -cl --cache-list --completion-bash",
}
REFUSED: Mapping[str, str] = {name: why for why, names in _REASONS.items() for name in names.split()}

_VARIABLES = {
    "DOCKER_REPO": "-dr", "HF_REPO": "-hf", "MODEL_URL": "-mu", "EMBEDDINGS": "--embedding", "RERANKING": "--rerank",
    "MMPROJ": "-mm", "MMPROJ_URL": "-mmu", "SPEC_DRAFT_MODEL": "-md", "SPEC_DRAFT_HF_REPO": "-hfd",
    "DRAFT_MAX": "--draft", "DRAFT_MIN": "--draft-min", "RPC": "--rpc",
    "ROPE_SCALING_TYPE": "--rope-scaling", "ROPE_SCALE": "--rope-scale", "ROPE_FREQ_BASE": "--rope-freq-base",
    "ROPE_FREQ_SCALE": "--rope-freq-scale", "YARN_ORIG_CTX": "--yarn-orig-ctx", "YARN_EXT_FACTOR": "--yarn-ext-factor",
    "YARN_ATTN_FACTOR": "--yarn-attn-factor", "YARN_BETA_SLOW": "--yarn-beta-slow",
    "YARN_BETA_FAST": "--yarn-beta-fast", "TOOLS": "--tools", "AGENT": "--agent", "UI_MCP_PROXY": "--ui-mcp-proxy",
    "MCP_SERVERS_CONFIG": "--mcp-servers-config", "MCP_SERVERS_JSON": "--mcp-servers-json",
    "THINK_BUDGET_MESSAGE": "--reasoning-budget-message",
    "SKIP_CHAT_PARSING": "--skip-chat-parsing", "STATIC_PATH": "--path", "SSL_KEY_FILE": "--ssl-key-file",
    "SSL_CERT_FILE": "--ssl-cert-file", "MODELS_DIR": "--models-dir", "MODELS_PRESET": "--models-preset",
}  # fmt: skip
REFUSED_VARIABLES: Mapping[str, str] = {f"LLAMA_ARG_{name}": REFUSED[flag] for name, flag in _VARIABLES.items()}
