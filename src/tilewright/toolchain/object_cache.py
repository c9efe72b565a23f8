"""Compiled objects, kept between runs by a hash of all that they depend on: the compiler, its options, every file.

Many processes share the folder: an entry appears whole or not at all, and carries a hash of itself, so that one that
was damaged is made anew. $TILEWRIGHT_OBJECT_CACHE_MB bounds the folder; 0 switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.toolchain.includes import SMALL, Files, Unknown, contents

VARIABLE = "TILEWRIGHT_OBJECT_CACHE_MB"
DEFAULT_MB = 512
MB = 1 << 20
KEPT = 0.75
"""Of the bound, once it is passed and the entries that were not used for longest are dropped."""
OFTEN = 32
"""Parts of the bound: a process that has added one of them looks at the folder again."""
FEWEST = 4
"""Objects that there is always room for."""
ABANDONED = 3600.0
"""Seconds after which a draft is one of a process that was killed."""
ENTRY, DRAFT = ".object", ".draft"
DIGEST = hashlib.sha256().digest_size
DEFINE, OWN = "-D", ("-DTW_", "-DTILEWRIGHT_")
"""Names of our own are in no header that a compiler brings."""
WORD, SPLICE, PASTES = re.compile(rb"\w+"), re.compile(rb"\\[ \t]*\r?\n"), (b"##", b"%:%:", b"??=??=")
"""Names: lines go on behind a backslash, in a name too, and macros put names together."""
DEBUG, WITHOUT_TEXTS = "-g", "-g0"
"""Tells a compiler to leave all names of the text out of an object, if no other such option follows."""


def bound() -> int:
    """Bytes that may be kept."""
    text = os.environ.get(VARIABLE, "").strip() or str(DEFAULT_MB)
    if not text.isdecimal():
        raise CompileError(f"{VARIABLE}={text}", "is not a number of megabytes", f"for example {DEFAULT_MB}, or 0")
    return int(text) * MB


def key_of(identity: str, words: Sequence[str], source: Path, folder: Path, files: Files | None = None) -> str | None:
    """A hash of everything that an object depends on; None where that cannot be known.

    `identity` stands for the compiler and the headers that it brings, `words` are its options; sources that are
    compiled at the same time share what was read of `files`.
    """
    try:
        found = list(contents(source, words, folder, files))
    except Unknown:
        return None
    seen = _seen(words, [part.data for part in found if part.is_text])
    digest = hashlib.sha256("\0".join([identity, *seen, source.suffix]).encode())
    for part in found:
        digest.update(f"\0{part.name}\0{len(part.data)}\0".encode())
        digest.update(part.data)
    return digest.hexdigest()


def _seen(words: Sequence[str], texts: Sequence[bytes]) -> list[str]:
    """The options without definitions of our own that no text names: whatever they say, the object is the same."""
    if [word for word in words if word.startswith(DEBUG)][-1:] != [WITHOUT_TEXTS]:
        return list(words)
    # What a definition stands for may name another one.
    given = " ".join(word.removeprefix(DEFINE + _macro(word)) if word.startswith(OWN) else word for word in words)
    every = [*map(_in_whole_lines, texts), given.encode()]
    pastes = any(paste in text for paste in PASTES for text in every)
    pasted = frozenset[bytes]().union(*map(_words, every)) if pastes else frozenset[bytes]()
    return [word for word in words if not word.startswith(OWN) or _is_named(_macro(word), every, pasted)]


def _macro(definition: str) -> str:
    return re.split(r"[=(]", definition.removeprefix(DEFINE), maxsplit=1)[0]


def _in_whole_lines(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    return _joined(text) if len(text) < SMALL else SPLICE.sub(b"", text)


def _is_named(macro: str, texts: Sequence[bytes], pasted: frozenset[bytes]) -> bool:
    """Whether texts say a macro's name, or may put it together of words of theirs."""
    if any(macro.encode() in text for text in texts):
        return True
    places = range(1, len(macro))
    begins, ends = ({macro[:at].encode() for at in places}, {macro[at:].encode() for at in places})
    return bool(pasted & begins and pasted & ends)


def _words(text: bytes) -> frozenset[bytes]:
    return _remembered(text) if len(text) < SMALL else frozenset(WORD.findall(text))


@lru_cache(maxsize=4096)
def _joined(text: bytes) -> bytes:
    return SPLICE.sub(b"", text)


@lru_cache(maxsize=4096)
def _remembered(text: bytes) -> frozenset[bytes]:
    return frozenset(WORD.findall(text))


@dataclass
class ObjectCache:
    folder: Path
    bound: int
    added: float = float("inf")
    """Bytes since the folder was looked at; at first nobody knows."""

    def take(self, key: str, place: Path) -> bool:
        """Put the object of that key in its place; whether there was one."""
        entry = self._entry(key)
        try:
            data = entry.read_bytes()
        except OSError:
            return False
        with contextlib.suppress(OSError):  # of others, who may only let it be read
            os.utime(entry)
        if hashlib.sha256(data[DIGEST:]).digest() != data[:DIGEST]:
            _drop(entry)
            return False
        _write(place, data[DIGEST:])
        return True

    def keep(self, key: str, made: Path) -> None:
        """Keep a copy of an object; where the folder cannot be written, there is one object less in it.

        One that is a large part of the bound is made again sooner than all others that it would drive out.
        """
        if made.stat().st_size > self.bound / FEWEST:
            return
        data = made.read_bytes()
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self._entry(key), hashlib.sha256(data).digest() + data)
        self.added += len(data)
        if self.added > self.bound / OFTEN:
            self.trim()

    def trim(self) -> None:
        """Drop what was not used for longest, if there is too much."""
        self.added = 0
        entries = sorted(self._entries(), key=lambda found: found[1].st_mtime, reverse=True)
        total, size = sum(stat.st_size for _, stat in entries), 0
        most = self.bound * KEPT if total > self.bound else self.bound
        for path, stat in entries:
            size += stat.st_size
            if size > most or _is_abandoned(path, stat):
                _drop(Path(path))

    def _entries(self) -> list[tuple[str, os.stat_result]]:
        found = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(FileNotFoundError):
                    found.append((file.path, file.stat()))
        return found

    def _entry(self, key: str) -> Path:
        return self.folder / f"{key}{ENTRY}"


def _drop(entry: Path) -> None:
    with contextlib.suppress(OSError):
        entry.unlink()


def _is_abandoned(path: str, stat: os.stat_result) -> bool:
    return path.endswith(DRAFT) and time.time() - stat.st_mtime > ABANDONED


def _write(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all, whoever else writes it now."""
    handle, draft = tempfile.mkstemp(suffix=DRAFT, dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)
