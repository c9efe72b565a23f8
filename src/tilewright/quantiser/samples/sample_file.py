"""Samples in an .npz file, read one after the other: the file may be larger than this machine's memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from tilewright.errors import CompileError, unreadable
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

SAVE_HINT = "save with numpy.savez(file, name=array)"


@dataclass(frozen=True)
class FileSource:
    """One array of the file."""

    path: Path
    member: str
    shape: Shape
    dtype: np.dtype[Any]
    fortran: bool

    def rows(self, first: int, step: int) -> Iterator[Array]:
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as stream:
            _header(stream)
            if self.fortran:
                yield from _whole(stream, self)[first::step]
                return
            shape = self.shape[1:]
            size = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
            stream.seek(first * size, 1)
            for number in range(first, self.shape[0], step):
                yield np.frombuffer(_exactly(stream, size, self.path, number), self.dtype).reshape(shape)
                stream.seek((step - 1) * size, 1)


def sources_of_file(path: Path) -> dict[str, FileSource]:
    """The arrays of an .npz file by name. Pickled objects are never loaded: the file is untrusted."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [entry.filename for entry in archive.infolist()]
            found = {name.removesuffix(".npy"): _source(archive, path, name) for name in members}
    except OSError as error:
        raise unreadable(path, error) from None
    except zipfile.BadZipFile:
        raise CompileError(str(path), "is not an .npz file of plain arrays", SAVE_HINT) from None
    if not found:
        raise CompileError(str(path), "holds no arrays", SAVE_HINT)
    return found


def _source(archive: zipfile.ZipFile, path: Path, member: str) -> FileSource:
    try:
        with archive.open(member) as stream:
            shape, fortran, dtype = _header(stream)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise CompileError(f"{path}: '{member}'", f"is not a plain array: {reason}", SAVE_HINT) from None
    if dtype.hasobject:
        raise CompileError(f"{path}: '{member}'", "holds Python objects, not numbers", SAVE_HINT)
    return FileSource(path, member, shape, dtype, fortran)


def _header(stream: IO[bytes]) -> tuple[Shape, bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    return tuple(shape), bool(fortran), dtype


def _whole(stream: IO[bytes], source: FileSource) -> Array:
    """Arrays in Fortran's order have the axis of samples last in memory, so that no sample lies together."""
    size = int(np.prod(source.shape, dtype=np.int64)) * source.dtype.itemsize
    flat = np.frombuffer(_exactly(stream, size, source.path, 0), source.dtype)
    return flat.reshape(source.shape, order="F")


def _exactly(stream: IO[bytes], size: int, path: Path, number: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise CompileError(str(path), f"ends in the middle of sample {number}", "write the file again")
    return data
