"""Text to token ids and back, from a model file's vocabulary."""

from __future__ import annotations

from .byte_bpe import ByteBpeTokenizer
from .gguf import ModelFile, ModelFileError
from .interface import Tokenizer
from .spm import SpmTokenizer
from .vocab import read_vocab

__all__ = ["load_tokenizer"]


def load_tokenizer(file: ModelFile) -> Tokenizer:
    """Read the tokenizer of a model file. Raises `ModelFileError`."""
    kind = file.metadata.get("tokenizer.ggml.model")
    vocab = read_vocab(file)
    if kind == "gpt2":
        merges = file.strings("tokenizer.ggml.merges")
        pre = file.metadata.get("tokenizer.ggml.pre")
        return ByteBpeTokenizer(vocab, merges, str(pre) if pre else "default")
    if kind == "llama":
        return SpmTokenizer(vocab, add_space_prefix=file.metadata.get("tokenizer.ggml.add_space_prefix") is not False)
    raise ModelFileError(f'{file.path}: the vocabulary is of the type "{kind}"; only gpt2 and llama can be read')
