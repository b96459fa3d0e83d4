"""Model files: llama-architecture GGUF, checked in full when opened, weights decoded on demand."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slotview.engine.text.plain import plain

from .ftypes import ftype_name
from .header import GgufHeader, ModelFileError, Scalar, TensorInfo, read_header
from .hparams import HParams, RopeScaling, read_hparams
from .quants import dequantize
from .tensors import check_tensors

__all__ = ["HParams", "ModelFile", "ModelFileError", "RopeScaling", "TensorInfo", "load_model_file"]


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
    tensors = check_tensors(header, hparams)
    infos = tensors.values()
    return ModelFile(
        path=path,
        hparams=hparams,
        metadata=header.scalars,
        tensors=tensors,
        n_params=sum(info.n_values for info in infos),
        size_bytes=sum(info.nbytes for info in infos),
        ftype=ftype_name(header),
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
