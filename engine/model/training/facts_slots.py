"""What slots are, how a request finds one and what happens when none is free."""

from __future__ import annotations

__all__ = ["SLOT_FACTS"]

SLOT_FACTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "what is a slot?",
            "what is a slot[ in the server| of the server|]?",
            "[can you |please |]explain what a slot is.",
            "[tell me|say] what a slot is.",
            "what does slot mean?",
            "what do you mean by a slot?",
            "what are slots?",
        ),
        (
            "a slot is a place in the server where one request runs. it keeps the tokens of that request in its "
            "own part of the "
            "KV cache.",
        ),
    ),
    (
        (
            "what is a slot for?",
            "why does [the|a] server have slots?",
            "what are slots [good |used |]for?",
            "why do we need slots?",
        ),
        (
            "slots let the server work on several requests at the same time. every busy slot adds its tokens to "
            "the same batch.",
        ),
    ),
    (
        (
            "how many slots [are there|does the server have|do i get]?",
            "how many slots are there by default?",
            "what is the default number of slots?",
        ),
        ("by default there are four slots, and they share one unified KV cache. the option -np sets another number.",),
    ),
    (
        (
            "what is the largest number of slots?",
            "how many slots can [i|a server] have[ at most|]?",
            "what is the limit for slots?",
        ),
        ("a server can have at most 256 slots.",),
    ),
    (
        (
            "what does [-np|the option -np|parallel|--parallel] [do|mean]?",
            "how [do|can] i [change|set] the number of slots?",
            "which option sets the number of slots?",
        ),
        ("the option -np sets the number of slots. with -np 4 the server can run four requests at once.",),
    ),
    (
        (
            "how does the server choose a slot?",
            "which slot [gets|takes] a new request?",
            "how is a slot [chosen|selected|picked]?",
            "where does a new request go?",
        ),
        (
            "the server first looks for an idle slot whose tokens begin like the new prompt. if there is none, "
            "it takes the slot that "
            "was not used for the longest time.",
        ),
    ),
    (
        (
            "what is prompt similarity?",
            "what is slot prompt similarity?",
            "what does [-sps|the option -sps] do?",
            "how similar must a prompt be?",
        ),
        (
            "similarity is the common beginning of slot and prompt, divided by the length of the new prompt. it "
            "must be more than 0.1 "
            "for the slot to be chosen.",
        ),
    ),
    (
        (
            "what is deferral?",
            "what is a deferred request?",
            "what does deferred mean?",
            "what happens when all slots are busy?",
            "what [if|happens if] no slot is free?",
            "what happens to a request when every slot is busy?",
            "why is my request waiting?",
        ),
        ("when all slots are busy, a new request is deferred. it waits in a queue until a slot is released.",),
    ),
    (
        (
            "when does a deferred request [start|run]?",
            "how long does a deferred request wait?",
            "what wakes a deferred request?",
            "when is a waiting request started?",
        ),
        ("each time a slot is released, one deferred request leaves the queue and is tried again.",),
    ),
    (
        (
            "is there a limit for [the queue|deferred requests]?",
            "how many requests can wait?",
            "how long can the queue be?",
        ),
        ("no, the queue of deferred requests has no limit.",),
    ),
    (
        (
            "what is an idle slot?",
            "what does idle mean?",
            "when is a slot idle?",
            "what does an idle slot do?",
        ),
        ("a slot is idle when it has no task. it still keeps its old tokens, so a similar prompt can use them again.",),
    ),
    (
        ("what is a busy slot?", "when is a slot busy?", "what does a busy slot do?"),
        ("a slot is busy while it works on a task. it reads the prompt first, and then it writes new tokens.",),
    ),
    (
        (
            "what states does a slot have?",
            "what are the states of a slot?",
            "tell me about the life of a slot.",
            "which states can a slot have?",
        ),
        ("a slot is idle, then started, then it reads the prompt, then it generates. at the end it is idle again.",),
    ),
    (
        (
            "what happens when a slot is released?",
            "what is a release?",
            "when is a slot released?",
            "what happens at the end of a request?",
        ),
        (
            "when a task ends, its slot is released and becomes idle. the tokens stay in the KV cache, and one "
            "waiting request may "
            "start.",
        ),
    ),
    (
        (
            "what is a pinned request?",
            "what does id_slot do?",
            "can i choose the slot myself?",
            "how do i pin a request to a slot?",
        ),
        ("the field id_slot pins a request to one slot. if that slot is busy, the request waits for it.",),
    ),
    (
        ("can two requests use the same slot?", "can a slot run two requests?", "how many requests can one slot run?"),
        ("a slot runs one request at a time. other requests use other slots, or they wait.",),
    ),
    (
        ("which slot is used first?", "which slot does the first request take?", "where does the first request run?"),
        ("on a fresh server the first request takes the slot with the highest number.",),
    ),
)
