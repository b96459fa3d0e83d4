"""Batches, end points, numbers to watch, and small talk."""

from __future__ import annotations

__all__ = ["SERVER_FACTS"]

SERVER_FACTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "what is batching?",
            "what is a batch?",
            "how does batching work?",
            "why does the server use batches?",
            "[can you |please |]explain batching.",
        ),
        (
            "a batch holds the next tokens of all busy slots. the model computes them in one step, which is "
            "faster than one by one.",
        ),
    ),
    (
        (
            "what is continuous batching?",
            "what does continuous batching do?",
            "how does continuous batching work?",
            "what does -cb do?",
        ),
        (
            "with continuous batching a new prompt can join the batch while other slots are generating. it is "
            "on by default.",
        ),
    ),
    (
        ("what happens without continuous batching?", "what does -nocb do?", "what if continuous batching is off?"),
        ("without continuous batching a prompt must wait until no slot is generating.",),
    ),
    (
        (
            "how big is a batch?",
            "what is the batch size?",
            "what does [-b|the option -b] do?",
            "how many tokens are in a batch?",
        ),
        ("the option -b sets how many tokens fit into one batch. the default is 2048.",),
    ),
    (
        ("what is a ubatch?", "what is a micro batch?", "what does [-ub|the option -ub] do?"),
        ("a batch is cut into smaller parts called ubatches. the option -ub sets their size, and the default is 512.",),
    ),
    (
        (
            "what is a token?",
            "what are tokens?",
            "what does token mean?",
            "[can you |please |]explain what a token is.",
        ),
        ("a token is a small piece of text, such as a word or a part of a word. the model reads and writes tokens.",),
    ),
    (
        ("what is a prompt?", "what does prompt mean?", "what do you call the text of a request?"),
        ("the prompt is the text that you send to the model. the model reads it first and then goes on writing.",),
    ),
    (
        (
            "what happens to a prompt?",
            "how is a prompt processed?",
            "what is prompt processing?",
            "what does the server do with a prompt?",
            "what is prefill?",
        ),
        (
            "the prompt is cut into tokens and goes through the model in batches. after its last token the "
            "first new token is chosen.",
        ),
    ),
    (
        (
            "what is generation?",
            "how does the server generate text?",
            "how does a model write text?",
            "what does generating mean?",
        ),
        (
            "the model computes how likely every next token is, and one of them is chosen. this is repeated "
            "until the text ends.",
        ),
    ),
    (
        ("what is temperature?", "what does the temperature do?", "what does temperature 0 mean?"),
        ("the temperature says how freely the next token is chosen. at 0 the most likely token is always taken.",),
    ),
    (
        (
            "when does the text end?",
            "when does an answer stop?",
            "why does the model stop?",
            "what makes the answer stop?",
        ),
        ("the answer stops at an end token, at a stop word, at the limit of tokens, or when the slot is full.",),
    ),
    (
        ("what does n_predict do?", "how do i limit the answer?", "how can i make the answer shorter?"),
        ("the field n_predict sets how many tokens may be generated at most.",),
    ),
    (
        (
            "how can i see the slots?",
            "how do i watch the slots?",
            "what does /slots show?",
            "where can i see what the slots do?",
        ),
        ("ask the server for /slots. it shows for every slot whether it is busy and how many tokens it has.",),
    ),
    (
        (
            "what does /metrics show?",
            "how do i turn on the metrics?",
            "what are the metrics?",
            "how can i count the requests?",
        ),
        ("the page /metrics shows how many tokens and requests were processed. the option --metrics turns it on.",),
    ),
    (
        ("what does /health say?", "how do i know that the server is ready?", "is the server ready?"),
        ("ask for /health. it says ok when the model is loaded, and gives error 503 while it is loading.",),
    ),
    (
        (
            "can i save a slot?",
            "how do i save a slot?",
            "what does saving a slot do?",
            "what is a saved slot?",
            "how do i restore a slot?",
        ),
        (
            "with --slot-save-path a slot can be saved to a file and restored later. the file holds its tokens "
            "and its KV cache.",
        ),
    ),
    (
        ("what happens when i cancel a request?", "what if the client goes away?", "can i cancel a request?"),
        ("when the client goes away, its task is cancelled and the slot is released.",),
    ),
    (
        ("what is streaming?", "what does stream do?", "how do i get the answer word by word?"),
        ("with stream set to true the server sends every new piece of text at once.",),
    ),
    (
        (
            "why is the server slow?",
            "why is my answer slow?",
            "what makes the server slow?",
            "how can i make the server faster?",
        ),
        ("many busy slots share the same time, and long prompts fill the batch. fewer slots or shorter prompts help.",),
    ),
    (
        ("who are you?", "what are you?", "what is your name?", "tell me about yourself.", "which model are you?"),
        ("i am slotview, a very small language model. i can tell little stories and answer questions about slots.",),
    ),
    (
        ("what can you do?", "what can i ask you?", "how can you help me?", "help me[ please|]."),
        ("you can ask me about slots, the context, the KV cache and batching. i can also tell you a little story.",),
    ),
    (
        (
            "hello[.|!|]",
            "hi[.|!|]",
            "hey[!|]",
            "good [morning|evening][.|!]",
            "hello there[.|!]",
            "test",
            "how are you?",
        ),
        ("hello! ask me about slots, or ask me for a story.",),
    ),
    (
        ("thank you[.|!|]", "thanks[.|!|]", "[very good|great|well done][.|!]", "goodbye[.|!]", "bye[.|!|]"),
        ("you are welcome. come back when you have another question.",),
    ),
    (
        (
            "what is the [weather|capital of france|best song|meaning of life|price of gold|time]?",
            "who [is the king|won the game|wrote this book|made the moon]?",
            "how [old is the sun|tall is the tower|far is the moon|do i cook rice]?",
            "write [a poem|some code|a song|a letter].",
        ),
        ("i do not know that. i am a very small model, but you can ask me about slots or for a story.",),
    ),
)
