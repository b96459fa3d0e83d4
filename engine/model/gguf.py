"""Model files: llama-architecture GGUF, checked in full when opened, weights decoded on demand."""

from __future__ import annotations

import mmap
import os
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..plain import plain
from .gguf_header import GgufHeader, ModelFileError, Scalar, TensorInfo, read_header
from .hparams import HParams, RopeScaling, read_hparams
from .quants import dequantize

__all__ = ["HParams", "ModelFile", "ModelFileError", "RopeScaling", "TensorInfo", "load_model_file"]

FTYPES = {
    0: "all F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K - Medium",
    11: "Q3_K - Small",
    12: "Q3_K - Medium",
    13: "Q3_K - Large",
    14: "Q4_K - Small",
    15: "Q4_K - Medium",
    16: "Q5_K - Small",
    17: "Q5_K - Medium",
    18: "Q6_K",
    21: "Q2_K - Small",
    32: "BF16",
    38: "MXFP4 MoE",
}
GUESSES = {"F32": "all F32"} | {f"Q{bits}_K": f"Q{bits}_K - Medium" for bits in (2, 3, 4, 5)}
"""What a file is called by its most frequent tensor type, where it does not say itself and that is not the name."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """An open model file. ``metadata`` holds the scalars; arrays are read with `strings` and `numbers`."""

    path: Path
    hparams: HParams
    metadata: Mapping[str, Scalar]
    tensors: Mapping[str, TensorInfo]
    n_params: int
    size_bytes: int
    ftype: str
    _header: GgufHeader = field(repr=False)
    _data: mmap.mmap = field(repr=False)

    @property
    def name(self) -> str:
        """general.name, else the file's name without its ending."""
        name = self.metadata.get("general.name")
        return name if isinstance(name, str) and name else self.path.stem

    def raw(self, name: str) -> NDArray[np.uint8]:
        """Bytes of a tensor as a read-only view into the file: [rows, bytes of a row]. Raises `KeyError`."""
        info = self.tensors[name]
        data = np.frombuffer(self._data, np.uint8, info.nbytes, info.offset)
        return data.reshape(*info.shape[:-1], -1)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Weights of a tensor as new float32 array: [rows, columns] or [values]. Raises `KeyError`."""
        out = np.empty(self.tensors[name].shape, np.float32)
        self.read_into(name, out)
        return out

    def read_into(self, name: str, out: NDArray[np.float32]) -> None:
        """Decode a tensor into a contiguous array of the same number of values. Raises `KeyError`, `ValueError`."""
        info = self.tensors[name]
        if out.size != info.n_values or not out.flags.c_contiguous:
            raise ValueError(f"{name} needs a contiguous array of {info.n_values} values")
        dequantize(info.type_name, self.raw(name).reshape(-1), out.reshape(-1))

    def strings(self, key: str) -> list[bytes]:
        """An array of texts in the metadata, [] where it is missing or holds something else."""
        value = self._header.arrays.get(key)
        return value if isinstance(value, list) else []

    def numbers(self, key: str) -> NDArray[np.generic] | None:
        """An array of numbers in the metadata, None where it is missing or holds something else."""
        value = self._header.arrays.get(key)
        return None if isinstance(value, list) else value


def load_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """Open a model file and check all of it except the values of the weights.

    Raises `ModelFileError` whose text begins with the path and names in one line what is wrong.
    """
    try:
        return _open(Path(path))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {plain(str(error))}") from None


def _open(path: Path) -> ModelFile:
    data = _map(path)
    header = read_header(data)
    hparams = read_hparams(header)
    tensors = _check_tensors(header, hparams)
    infos = tensors.values()
    return ModelFile(
        path=path,
        hparams=hparams,
        metadata=header.scalars,
        tensors=tensors,
        n_params=sum(info.n_values for info in infos),
        size_bytes=sum(info.nbytes for info in infos),
        ftype=_ftype(header),
        _header=header,
        _data=data,
    )


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError("not a regular file")
            if status.st_size == 0:
                raise ModelFileError("the file is empty")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except IsADirectoryError:
        raise ModelFileError("a directory, not a model file") from None
    except OSError as error:
        raise ModelFileError(f"cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise ModelFileError(f"cannot be read ({error})") from None


def _ftype(header: GgufHeader) -> str:
    number = header.scalars.get("general.file_type")
    if isinstance(number, int):
        return FTYPES.get(number, "unknown, may not work")
    most = Counter(info.type_name for info in header.tensors.values()).most_common(1)[0][0]
    return f"(guessed) {GUESSES.get(most, most)}"


def _expected_tensors(h: HParams) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor a llama network of this size has."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (h.n_vocab, h.n_embd),
        "output_norm.weight": (h.n_embd,),
    }
    if not h.tied:
        shapes["output.weight"] = (h.n_vocab, h.n_embd)
    if h.has_rope_freqs:
        shapes["rope_freqs.weight"] = (h.rope_dim // 2,)
    layer = {
        "attn_norm": (h.n_embd,),
        "attn_q": (h.n_head * h.head_dim_k, h.n_embd),
        "attn_k": (h.n_head_kv * h.head_dim_k, h.n_embd),
        "attn_v": (h.n_head_kv * h.head_dim_v, h.n_embd),
        "attn_output": (h.n_embd, h.n_head * h.head_dim_v),
        "ffn_norm": (h.n_embd,),
        "ffn_gate": (h.n_ff, h.n_embd),
        "ffn_up": (h.n_ff, h.n_embd),
        "ffn_down": (h.n_embd, h.n_ff),
    }
    for number in range(h.n_layer):
        shapes.update({f"blk.{number}.{name}.weight": shape for name, shape in layer.items()})
    return shapes


def _optional_tensors(h: HParams) -> dict[str, tuple[int, ...]]:
    """Name and shape of the biases that each matrix of a layer may have: a value for each of its rows."""
    return {
        name.removesuffix("weight") + "bias": shape[:1]
        for name, shape in _expected_tensors(h).items()
        if name.startswith("blk.") and len(shape) == 2
    }


def _check_tensors(header: GgufHeader, hparams: HParams) -> dict[str, TensorInfo]:
    """The tensors, with the shapes that the network gives them: files may put dimensions of 1 before them."""
    if hparams.n_layer > len(header.tensors):
        raise ModelFileError(
            f"{hparams.n_layer:,} layers are announced, but the file has {len(header.tensors)} tensors"
        )
    tensors = dict(header.tensors)
    optional = _optional_tensors(hparams)
    expected = _expected_tensors(hparams) | {name: shape for name, shape in optional.items() if name in tensors}
    for name, shape in expected.items():
        info = tensors.get(name)
        if info is None:
            raise ModelFileError(f'the tensor "{name}" is missing')
        if _without_ones(info.shape) != _without_ones(shape):
            raise ModelFileError(f'the tensor "{name}" has the shape {list(info.shape)}, expected {list(shape)}')
        tensors[name] = replace(info, shape=shape)
    for name in tensors:
        if name not in expected and not name.endswith(".attn_rot_embd"):
            raise ModelFileError(
                f'the tensor "{name}" is not part of a plain llama network, so the model cannot be run'
            )
    return tensors


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    while shape[0] == 1 and len(shape) > 1:
        shape = shape[1:]
    return shape
