"""A loaded network called between guard pages: reads and writes beside an input or output end the process that calls.

Each array ends where a page begins that nobody may touch, or begins where such a page ends. The arena is filled with a
pattern before; results that depend on the pattern read what nobody wrote.
"""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import mmap
import os
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.ir.types import Array
from tilewright.run.library import LoadedNetwork

PAGE = mmap.PAGESIZE
PROT_NONE = 0
PATTERNS = (0x00, 0x5A, 0xFF)
"""Bytes that the arena is filled with: as floats zero, a huge number, and no number."""
LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """An array right before a page that may not be touched, or right behind one."""

    def __init__(self, array: Array, at_the_end: bool) -> None:
        inside = -(-max(array.nbytes, 1) // PAGE) * PAGE
        self._memory = mmap.mmap(-1, inside + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for page in (start, start + PAGE + inside):
            if LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        first = PAGE + (inside - array.nbytes if at_the_end else 0)
        self.array: Array = np.frombuffer(self._memory, array.dtype, array.size, first).reshape(array.shape)
        self.array[...] = array


def call(network: LoadedNetwork, inputs: Sequence[Array], outputs: Sequence[Array]) -> str:
    """What is wrong with a call: a fault, results that depend on bytes that nobody wrote; empty if nothing is.
    `outputs` are what is right, as far as types and sizes go; their values are replaced by those of the call."""
    for at_the_end in (True, False):
        found = [_called(network, inputs, outputs, at_the_end, pattern) for pattern in PATTERNS]
        for one in found:
            if isinstance(one, str):
                return f"{one}, arrays {'before' if at_the_end else 'behind'} a guard page"
        if any(one != found[0] for one in found):
            return "results depend on what lies in the arena before"
    for output, data in zip(outputs, found[0], strict=True):
        output[...] = np.frombuffer(data, output.dtype).reshape(output.shape)
    return ""


def _called(
    network: LoadedNetwork, inputs: Sequence[Array], outputs: Sequence[Array], at_the_end: bool, pattern: int
) -> list[bytes] | str:
    """The outputs' bytes, from a process of its own."""
    given, made = ([Guarded(array, at_the_end) for array in arrays] for arrays in (inputs, outputs))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _call_and_leave(network, given, made, pattern, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    if os.WEXITSTATUS(status):
        return f"ended with code {os.WEXITSTATUS(status)}"
    sizes = np.cumsum([0, *(array.nbytes for array in outputs)])
    return [data[start:stop] for start, stop in itertools.pairwise(sizes)]


def _call_and_leave(
    network: LoadedNetwork, given: Sequence[Guarded], made: Sequence[Guarded], pattern: int, write: int
) -> Any:
    faulthandler.disable()  # a fault is what is looked for
    try:
        network._arena[...] = pattern
        network(*(one.array for one in given), out=[one.array for one in made])
        with os.fdopen(write, "wb") as pipe:
            for one in made:
                pipe.write(one.array.tobytes())
        os._exit(0)
    except BaseException:
        os._exit(1)
