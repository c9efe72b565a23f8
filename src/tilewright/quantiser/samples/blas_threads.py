"""Threads of matrix products: one in each process, for more of them wait for each other in a busy loop.

The products of networks for small devices are small: with two threads they take twice the CPU time. numpy has no
function for that, and what the environment says is read when it is loaded; OpenBLAS itself can be told.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

SETTERS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("", "scipy_") for suffix in ("", "64_", "_64")
)
"""How the function is called in the builds that numpy comes with."""
LOADED = Path("/proc/self/maps")


def use_one_thread() -> None:
    """In this process; where there is another library or no way to find it, nothing changes."""
    for set_threads, _ in _switches():
        set_threads(1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """The same for a while."""
    before = [(set_threads, get_threads()) for set_threads, get_threads in _switches()]
    use_one_thread()
    try:
        yield
    finally:
        for set_threads, count in before:
            set_threads(count)


@cache
def _switches() -> tuple[tuple[Any, Any], ...]:
    """The functions that set and get the number of threads, of every library that has them."""
    found = []
    for path in _libraries():
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            names = [(name, name.replace("_set_", "_get_")) for name in SETTERS]
            found += [
                (getattr(library, put), getattr(library, get))
                for put, get in names
                if hasattr(library, put) and hasattr(library, get)
            ]
    return tuple(found)


def _libraries() -> set[str]:
    if not LOADED.exists():
        return set()
    files = (line.split(maxsplit=5)[-1].strip() for line in LOADED.read_text().splitlines())
    return {file for file in files if file.startswith("/") and "openblas" in Path(file).name}
