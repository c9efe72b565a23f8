"""Headers of vector instructions: clang takes longer to read one than to compile most kernels that include it. What it
has read of one is kept, as objects are, for the next file with the same options; the code stays the same to the bit."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock

from tilewright.toolchain.includes import ABSENT, FORCED, LIBRARY_FOLDERS, OWN_FOLDERS, Unknown, contents
from tilewright.toolchain.object_cache import ObjectCache

HEADERS = ("arm_mve.h", "arm_neon.h", "immintrin.h")
FOLDER = "-I"
"""Of a program's own headers; those above are the compiler's, unless a program has one of that name."""
OTHERWISE = (*OWN_FOLDERS, *FORCED, *(kind for kind in LIBRARY_FOLDERS if kind != FOLDER))
"""Options that may put something before a header."""
TIMEOUT = 120

_making = Lock()


def begin_with(
    clang: tuple[str, ...], options: Sequence[str], source: Path, flags: Sequence[str], folder: Path, kept: ObjectCache
) -> tuple[str, ...]:
    """More options for clang, beside those that stand for a program's flags, to compile a source in a folder: begin
    with what was read of a header that the source includes."""
    if any(word.startswith(OTHERWISE) for word in flags):
        return ()
    try:
        named = {part.name for part in contents(source, flags, folder) if part.data == ABSENT}
    except Unknown:
        return ()
    words = tuple(word for word in options if not word.startswith(FOLDER))
    with _making:
        read = (_read(clang, words, header, kept.folder, kept.bound) for header in HEADERS if header in named)
        path = next((path for path in read if path), None)
    return ("-include-pch", str(path)) if path else ()


@cache
def _read(clang: tuple[str, ...], words: tuple[str, ...], header: str, folder: Path, bound: int) -> Path | None:
    """A file with what clang has read of a header; None where it is for other processors."""
    path = shutil.which(clang[0])
    if path is None:
        return None
    program = os.stat(path)
    facts = [path, *clang, str(program.st_size), str(program.st_mtime_ns), *words, header]
    key = hashlib.sha256("\0".join(facts).encode()).hexdigest()
    kept, place = ObjectCache(folder, bound), _own_folder() / f"{key}.pch"
    if kept.take(key, place):
        return place
    asked = [*clang, "-x", "c-header", "-", *(word for word in words if word != "-c"), "-o", str(place)]
    try:
        done = subprocess.run(asked, input=f"#include <{header}>\n".encode(), capture_output=True, timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    kept.keep(key, place)
    return place


@cache
def _own_folder() -> Path:
    """Of this process, to its end."""
    folder = tempfile.mkdtemp(prefix="tilewright-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
