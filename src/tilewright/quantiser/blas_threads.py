"""Threads of matrix products: one in each of several processes, for more of them wait for each other in a busy loop.

numpy has no function for that, and what the environment says is read when it is loaded; OpenBLAS itself can be told.
"""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

SETTERS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("", "scipy_") for suffix in ("", "64_", "_64")
)
"""How the function is called in the builds that numpy comes with."""
LOADED = Path("/proc/self/maps")


def use_one_thread() -> None:
    """In this process; where there is another library or no way to find it, nothing changes."""
    for path in _libraries():
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for name in SETTERS:
                with contextlib.suppress(AttributeError):
                    getattr(library, name)(1)


def _libraries() -> set[str]:
    if not LOADED.exists():
        return set()
    files = (line.split(maxsplit=5)[-1].strip() for line in LOADED.read_text().splitlines())
    return {file for file in files if file.startswith("/") and "openblas" in Path(file).name}
