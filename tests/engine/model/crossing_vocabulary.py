"""Texts that are hard to cut into words, and a vocabulary whose tokens reach across any cut, so that cuts show."""

from __future__ import annotations

import json
import random
from functools import cache

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

__all__ = ["HARD_TEXTS", "crossing_vocabulary"]

_PARTS = (
    *"aAbBzZ019 \t\n\r\x0b\x0c'\"_-,.:;!?$+<=>^~|`/\\()[]{}#@%&*",
    *"ßẞÉéЖж٣Ⅷ½²日本語ひカ가한αΩǅʰªº„“”‘’¡¿…—–「」、。！？，．٪€£°©™←∞ŉŁłİıſﬁＡａ０１鿿ࠀ👍",
    *"\u0301\u0e34\u200d\ufe0f\u00a0\u0085\u3000\u2028\u2003",
    "'s",
    "'S",
    "'re",
    "'LL",
    " 'd",
    "n't",
    "  ",
    "    ",
    "\r\n",
    "123",
    "4567",
    "Word",
    "wordy",
    "WORD",
    "日本",
    "👩\u200d👧",
    "e\u0301",
)
_SENTENCES = (
    " (foo|bar)  baz's 123456 $5.00\r\n\r\n  x\t\ty  ",
    "ABCdef GHIjkl'LL McDonald's iPhone HELLOworld ÀÉÎõü",
    "a\u3000b \u3000'S \t\u3000'x \u2003「日」",
    "don't DON'T won’t",
    "foo/bar//baz\n/x !!\r\n\r\n?/\n",
    "<sentinel:12> IMGIMGABCZ IMGIMGABCDEZ a    b\t\tc",
    " " * 300 + "x" + " " * 9 + "\n" + " " * 21,
    "한국 어 가 나\u0301 다",
    "  \t\t\t\t  x" * 5,
)


def _texts() -> tuple[str, ...]:
    rng = random.Random(7)
    return (*_SENTENCES, *("".join(rng.choice(_PARTS) for _ in range(rng.randint(2, 40))) for _ in range(300)))


HARD_TEXTS = _texts()


@cache
def crossing_vocabulary() -> dict[str, object]:
    """The keys of a byte-level vocabulary, trained on these texts as if each were one word."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(ByteLevel.alphabet())
    trainer = BpeTrainer(vocab_size=2500, initial_alphabet=alphabet, show_progress=False, max_token_length=12)
    tokenizer.train_from_iterator(HARD_TEXTS * 2, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": sorted(model["vocab"], key=model["vocab"].__getitem__),
        "tokenizer.ggml.merges": merges,
    }
