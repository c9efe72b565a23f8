"""Built models, kept between runs: a library, its weights file and what is said of them, in a folder for each.

A folder is found by what it was made of: files by their places, sizes, times and samples of their bytes, which takes no
time however large they are; the options; this package, the compiler and the processor. $TILEWRIGHT_MODEL_CACHE_MB
bounds all of them together, 0 keeps none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.target.kept_costs import kept
from tilewright.toolchain.compiler import _processor, cache_folder, find_compiler
from tilewright.version import VERSION

VARIABLE, DEFAULT_MB, MB = "TILEWRIGHT_MODEL_CACHE_MB", 16384, 1 << 20
FOLDER, DRAFT, SAID = "models", ".draft-", "summary.json"
MODEL, FILES = "model", "files"
"""What is said: of the model, and the sizes of the files beside it."""
MOST = 64
"""Models that are kept; those that were not used for longest go first."""
ABANDONED = 24 * 3600.0
"""Seconds after which a draft is one of a process that was killed."""
SAMPLE = 1 << 16
"""Bytes of a file that are looked at, at its start, its end and in between."""
MOST_FILES = 200
"""Of a folder that is taken for a model's."""
PACKAGE = Path(__file__).parents[1]


# ---- what a model is made of ----------------------------------------------------------------------------------------


def fingerprint(path: Path) -> str | None:
    """Changes with a file, or with any file of a folder; None where nobody can tell."""
    try:
        place = path.resolve()
        files = sorted(one for one in _inside(place) if one.is_file())
        if not files or len(files) > MOST_FILES:
            return None
        return "\n".join([str(place), *(_looked_at(one) for one in files)])
    except OSError:
        return None


def _inside(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    for one in place.iterdir():
        yield from one.iterdir() if one.is_dir() and not one.name.startswith(".") else [one]


def _looked_at(file: Path) -> str:
    found = file.stat()
    with open(file, "rb") as opened:
        total = hashlib.sha256()
        for at in (0, found.st_size // 2, max(found.st_size - SAMPLE, 0)):
            opened.seek(at)
            total.update(opened.read(SAMPLE))
    return f"{file} {found.st_size} {found.st_mtime_ns} {total.hexdigest()}"


@cache
def code() -> str:
    """Changes with the files of this package: a version that is worked on keeps its number."""
    total = hashlib.sha256(VERSION.encode())
    for folder, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            found = os.stat(os.path.join(folder, name))
            total.update(f"{folder} {name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return total.hexdigest()


def machine(cc: str | None) -> str:
    """What a library depends on besides its source, and what it is planned by."""
    command = find_compiler(cc).command
    program = shutil.which(command[0])
    found = os.stat(program) if program else None
    return " ".join([*command, f"{found.st_size} {found.st_mtime_ns}" if found else "", _processor(), str(kept())])


def key_of(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join([code(), *parts]).encode()).hexdigest()[:32]


# ---- the folder -----------------------------------------------------------------------------------------------------


def bound() -> int:
    """Bytes that may be kept."""
    text = os.environ.get(VARIABLE, "").strip() or str(DEFAULT_MB)
    if not text.isdecimal():
        raise CompileError(f"{VARIABLE}={text}", "is not a number of megabytes", f"for example {DEFAULT_MB}, or 0")
    return int(text) * MB


def find(key: str) -> tuple[Path, dict[str, Any]] | None:
    """The folder of a model and what is said of it, if it is there."""
    folder = cache_folder() / FOLDER / key
    found = _whole(folder)
    if found is None:
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / SAID)
    return folder, found


def _whole(folder: Path) -> dict[str, Any] | None:
    """What is said of a model, if all its files are there: a library that is cut off would end the process."""
    try:
        said = json.loads((folder / SAID).read_text())
        is_whole = all((folder / name).stat().st_size == size for name, size in said[FILES].items())
        return dict(said[MODEL]) if is_whole else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def drop(folder: Path) -> None:
    """One that turned out to be damaged."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Made:
    folder: Path
    draft: tempfile.TemporaryDirectory[str] | None
    """Whom the folder ends with, where it is not kept."""


def make(key: str | None, said: Mapping[str, Any], build: Callable[[Path], None]) -> Made:
    """The folder that `build` fills."""
    base = cache_folder() / FOLDER
    try:
        base.mkdir(parents=True, exist_ok=True)
        draft = tempfile.TemporaryDirectory(prefix=DRAFT, dir=base)
        folder = Path(draft.name)
        build(folder)
        if key is None or _bytes(folder) > bound():
            return Made(folder, draft)
        sizes = {one.name: one.stat().st_size for one in folder.iterdir()}
        (folder / SAID).write_text(json.dumps({MODEL: said, FILES: sizes}))
        return Made(_kept(draft, base / key), None)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise CompileError(str(base), what, "set TILEWRIGHT_CACHE to a folder with more room") from None


def _kept(draft: tempfile.TemporaryDirectory[str], folder: Path) -> Path:
    """A folder appears whole or not at all; one that another process has made meanwhile is as good."""
    os.chmod(draft.name, 0o755)
    if _whole(folder) is None:
        drop(folder)
    with contextlib.suppress(OSError):
        os.rename(draft.name, folder)
    draft.cleanup()
    _trim(folder)
    return folder


def _trim(newest: Path) -> None:
    """Drop what was not used for longest, if there is too much."""
    entries, left = sorted(_entries(newest.parent), reverse=True), bound()
    for number, (used, size, path) in enumerate(entries):
        left -= size
        is_old_draft = path.name.startswith(DRAFT) and time.time() - used > ABANDONED
        if path != newest and (is_old_draft or (not path.name.startswith(DRAFT) and (left < 0 or number >= MOST))):
            drop(path)


def _entries(base: Path) -> Iterator[tuple[float, int, Path]]:
    """When each was used, its bytes, and where it is."""
    for path in base.iterdir():
        with contextlib.suppress(OSError):
            said = path / SAID
            yield (said if said.exists() else path).stat().st_mtime, _bytes(path), path


def _bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir() if one.is_file())
