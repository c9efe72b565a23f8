"""Arrays that lie in files: their pages come when they are read, and go when they are not needed for a while."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from tilewright.toolchain.compiler import cache_folder

FOLDER = "arrays"
LEAST = 1 << 22
"""Bytes of an array that is worth a file."""

_own: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Zeros that may be written, in a file without a name if they are many: it ends with the array. Where there is no
    room for the file they are in memory."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    data = _file(size) if size >= LEAST else None
    return np.zeros(shape, dtype) if data is None else np.frombuffer(data, dtype).reshape(shape)


def _file(size: int) -> mmap.mmap | None:
    with contextlib.suppress(OSError, AttributeError, ValueError):
        folder = cache_folder() / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A page that finds no room later would end the process.
            os.posix_fallocate(file.fileno(), 0, size)
            made = mmap.mmap(file.fileno(), size)
        _own.add(made)
        return made
    return None


def release(array: np.ndarray[Any, Any]) -> None:
    """Nobody needs the bytes of an array for a while: if they lie in a file, their pages are given back."""
    found = _mapping(array)
    if found is None or not array.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    base = np.frombuffer(found, np.uint8).ctypes.data
    first, last = np.lib.array_utils.byte_bounds(array)
    start = (first - base) // mmap.PAGESIZE * mmap.PAGESIZE
    found.madvise(mmap.MADV_DONTNEED, start, last - base - start)


def _mapping(array: Any) -> mmap.mmap | None:
    """The file behind an array, if all that was written to it is there."""
    while isinstance(array, np.ndarray):
        array = array.base
    found = array.obj if isinstance(array, memoryview) else array
    if not isinstance(found, mmap.mmap):
        return None
    return found if found in _own or memoryview(found).readonly else None
