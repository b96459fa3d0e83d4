"""The text of a whole prompt as llama.cpp shows it: without the blanks that some tokenizers put before marks."""

from __future__ import annotations

import re

__all__ = ["clean_blanks", "cleans_blanks"]

KEEPING = (
    "deepseek-llm deepseek-coder deepseek-v3 spark2_5 command-r qwen2 deepseek-r1-qwen kormo f2llmv2 qwen35 poro-chat"
    " viking tekken smollm chameleon gpt-4o llama4 kanana2 talkie minimax-m2 trillion granite-docling bailingmoe"
    " bailingmoe2 llada-moe seed-coder hunyuan hunyuan-dense hy_v4 joyai-llm ufakzeka grok-2 laguna solar-open"
)
STEPS = tuple(
    (re.compile(pattern), mark)
    for pattern, mark in ((rb" (?=[?!.,])", b""), (rb" ' ", b"'"), (rb" (?='(?:[sm]|re|ve))", b""))
)


def cleans_blanks(model: str, pre: str) -> bool:
    """Whether a vocabulary of this ``tokenizer.ggml.model`` and ``pre`` is shown so."""
    return model == "gpt2" and pre not in KEEPING.split()


def clean_blanks(text: bytes) -> bytes:
    """Drop the blank before ``?!.,``, those around a lone apostrophe, and the one before ``'s 'm 're 've``."""
    for pattern, mark in STEPS:
        text = pattern.sub(mark, text)
    return text
