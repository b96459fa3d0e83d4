"""The tokenizer of a model file."""

from __future__ import annotations

import numpy as np

from slotview.engine.text.plain import plain

from ..gguf.file import ModelFile, ModelFileError
from .byte_bpe import ByteBpeTokenizer
from .file_tokenizer import FileTokenizer
from .spm import SpmTokenizer
from .vocab import read_vocabulary

__all__ = ["load_tokenizer"]


def load_tokenizer(file: ModelFile) -> FileTokenizer:
    """Read the tokenizer of a model file. Raises `ModelFileError` with one line that names the file."""
    try:
        return _load(file)
    except ModelFileError as error:
        raise ModelFileError(f"{file.path}: {plain(str(error))}") from None


def _load(file: ModelFile) -> FileTokenizer:
    vocabulary = read_vocabulary(file)
    found = file.metadata.get("tokenizer.chat_template")
    template = found if isinstance(found, str) else None
    if vocabulary.model == "gpt2":
        return ByteBpeTokenizer(vocabulary, template, file.strings("tokenizer.ggml.merges"))
    scores = file.numbers("tokenizer.ggml.scores")
    plain = np.zeros(len(vocabulary.texts)) if scores is None else np.asarray(scores)
    return SpmTokenizer(vocabulary, template, plain.tolist())
