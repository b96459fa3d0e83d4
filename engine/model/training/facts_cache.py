"""How the context is divided, what the unified cache changes and how prompts are used again."""

from __future__ import annotations

__all__ = ["CACHE_FACTS"]

CACHE_FACTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "how is the context divided?",
            "how is the context [split|shared]?",
            "how do slots share the context?",
            "what is context division?",
            "how much context does [each|a|one] slot get?",
            "how big is the context of a slot?",
        ),
        (
            "in split mode the context is divided by the number of slots. every slot gets its own equal part, "
            "rounded up to a "
            "multiple of 256.",
        ),
    ),
    (
        (
            "what is the context?",
            "what is context size?",
            "what is a context window?",
            "what does the context mean?",
            "what does the option -c do?",
            "what does -c do?",
        ),
        (
            "the context is the number of tokens that fit into the KV cache. the option -c sets it for all "
            "slots together.",
        ),
    ),
    (
        (
            "what is unified KV?",
            "what is the unified KV cache?",
            "what does unified mean?",
            "[can you |please |]explain unified KV.",
            "what does [-kvu|--kv-unified] do?",
            "how does the unified cache work?",
        ),
        (
            "with a unified KV cache all slots share one pool of cells. a single slot may use the whole pool "
            "when the others are empty.",
        ),
    ),
    (
        (
            "what is split mode?",
            "what is a split KV cache?",
            "what does split mean?",
            "what happens without unified KV?",
        ),
        ("in split mode every slot has its own stream of cells. no slot can take the cells of another slot.",),
    ),
    (
        (
            "what is the difference between split and unified?",
            "what is the difference between split and unified mode?",
            "split or unified, what is the difference?",
            "should i use split or unified?",
        ),
        ("in split mode every slot owns an equal part of the cells. in unified mode all slots share one pool.",),
    ),
    (
        (
            "what happens when the pool is full?",
            "what happens when the unified pool is full?",
            "what if the cache is full?",
            "what happens when there are no free cells?",
        ),
        (
            "the server first empties idle slots. if there is still no room, all busy slots end with the error: "
            "context size has been "
            "exceeded.",
        ),
    ),
    (
        (
            "what is the KV cache?",
            "what is a KV cache[ for|]?",
            "what does the KV cache [do|hold|keep]?",
            "why do we need a KV cache?",
        ),
        (
            "the KV cache keeps the keys and values of all old tokens. so the model does not have to compute "
            "them again.",
        ),
    ),
    (
        ("what is a cell?", "what is a KV cell?", "what does a cell hold?", "what are cells?"),
        ("a cell is room for the key and the value of one token in every layer.",),
    ),
    (
        (
            "what is prompt caching?",
            "what is the prompt cache?",
            "how does prompt caching work?",
            "what does cache_prompt do?",
            "[can you |please |]explain prompt caching.",
            "how are prompts used again?",
        ),
        (
            "prompt caching uses the tokens that are already in the slot. only the part of the prompt after the "
            "common beginning is "
            "computed.",
        ),
    ),
    (
        (
            "why is the second request faster?",
            "why is the same prompt faster the second time?",
            "what happens when i send the same prompt again?",
            "what if i repeat a prompt?",
        ),
        (
            "the beginning of the prompt is still in the slot. when the same prompt comes again, only its last "
            "token is computed.",
        ),
    ),
    (
        (
            "what is the RAM cache?",
            "what does --cache-ram do?",
            "where do old prompts go?",
            "what is the prompt store?",
            "what happens to old prompts?",
        ),
        (
            "old prompts are saved in the memory of the host. when a similar prompt comes, its state is loaded "
            "back into a slot.",
        ),
    ),
    (
        ("how big is the RAM cache?", "what is the default of --cache-ram?", "how much memory do old prompts take?"),
        ("by default the store for old prompts may use 8192 MiB.",),
    ),
    (
        (
            "what is a context shift?",
            "what does --context-shift do?",
            "what is context shift for?",
            "how does a context shift work?",
        ),
        (
            "a context shift throws away some old tokens when the slot is full, so that the text can go on. it "
            "is off by default.",
        ),
    ),
    (
        (
            "what happens when a slot is full?",
            "what happens when the context of a slot is full?",
            "what if a slot has no more room?",
            "when does a slot run out of room?",
        ),
        (
            "when the slot is full, the answer stops and is marked as truncated. with context shift the oldest "
            "tokens are dropped.",
        ),
    ),
    (
        (
            "what if my prompt is too long?",
            "what happens when the prompt is too long?",
            "can a prompt be longer than the slot?",
        ),
        ("a prompt that does not fit into its slot is refused with error 400.",),
    ),
    (
        (
            "what is the smallest context of a slot?",
            "why is the context a multiple of 256?",
            "how is the context rounded?",
            "what is padding?",
        ),
        ("the context is rounded up to a multiple of 256, so the smallest stream has 256 cells.",),
    ),
    (
        (
            "what does --kv-unified-per-slot do?",
            "how can i limit the context of one slot?",
            "can i give every slot a limit?",
        ),
        ("the option --kv-unified-per-slot sets an upper limit for the context of one slot.",),
    ),
    (
        ("can slots have different sizes?", "do all slots have the same size?", "are all slots equal?"),
        ("all slots have the same size. no slot can be made bigger than the others.",),
    ),
)
