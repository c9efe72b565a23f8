"""Which files a C or assembly source is made of: whatever it includes, directly or through others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from tilewright.records import dataclass

QUOTED, ANGLED, DATA, BYTES = '"', "<", ".", "0"
"""How a file is named: as a header of one's own, as one of a library, or by the assembler as text or as bytes."""

DIRECTIVES = (
    re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)\b[ \t]*(.*)", re.MULTILINE),
    re.compile(r"\b__has_(?:include|include_next|embed)[ \t]*\([ \t]*(.*)"),
)
ASSEMBLER = re.compile(r"\.include\b(.*)")
RAW = re.compile(r"\.incbin\b(.*)")
MARKS = ("#", "%:", "??=", "__", ".inc")
"""A line without any of these says nothing about other files."""
CHANGING = re.compile(r"\b__(?:FILE|BASE_FILE|DATE|TIME|TIMESTAMP)__\b")
"""What differs though the text is the same."""

OWN_FOLDERS, LIBRARY_FOLDERS, FORCED = ("-iquote",), ("-I", "-isystem", "-idirafter"), ("-include", "-imacros")
SEARCHED = ("CPATH", "C_INCLUDE_PATH")
"""Variables that name more folders with headers."""

ABSENT = b"absent"
"""Stands for what the compiler brings itself."""
SMALL = 1 << 17
"""Bytes of a text whose includes are remembered."""


class Unknown(Exception):
    """What a source is made of cannot be told from its text."""


@dataclass(frozen=True)
class Reference:
    name: str
    kind: str


class Files:
    """What files hold, each read once: the sources of a program include the same headers."""

    def __init__(self) -> None:
        self._read: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes | None:
        """None where there is no such file."""
        if path not in self._read:
            self._read[path] = Path(path).read_bytes() if os.path.isfile(path) else None
        return self._read[path]


@dataclass(frozen=True)
class Part:
    """Something that a source is made of."""

    name: str
    data: bytes
    is_text: bool = True
    """Whether a compiler reads it; else it only copies it."""


@dataclass(frozen=True)
class Search:
    """Where a compiler looks for headers. Those that it brings itself are in none of these folders."""

    folder: str
    """In which the compiler runs."""
    own: tuple[str, ...]
    libraries: tuple[str, ...]
    forced: tuple[Reference, ...]
    """What the command line includes."""

    @staticmethod
    def of(words: Sequence[str], folder: Path) -> Search:
        """As a compiler's command line says."""
        if any(word.startswith("@") for word in words):
            raise Unknown("options in a file")
        base = str(folder)
        own, libraries = (
            tuple(os.path.join(base, name) for name in _values(words, kinds))
            for kinds in (OWN_FOLDERS, LIBRARY_FOLDERS)
        )
        more = [name for variable in SEARCHED for name in os.environ.get(variable, "").split(os.pathsep) if name]
        forced = tuple(Reference(name, DATA) for name in _values(words, FORCED))
        return Search(base, own, (*libraries, *(os.path.join(base, name) for name in more)), forced)

    def find(self, reference: Reference, origin: str, files: Files) -> tuple[str, bytes] | None:
        """A file and what it holds; None for what the compiler brings itself, and for what is not there."""
        first = {
            QUOTED: (os.path.dirname(origin), *self.own),
            ANGLED: (),
            DATA: (self.folder, *self.own),
            BYTES: (self.folder, *self.own),
        }
        for place in (*first[reference.kind], *self.libraries):
            path = os.path.join(place, reference.name)
            data = files.get(path)
            if data is not None:
                return path, data
        return None


def _values(words: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """What options are given, in one word with them or in the one after."""
    for word, following in pairwise([*words, ""]):
        kind = next((kind for kind in kinds if word.startswith(kind)), None)
        if kind is not None:
            yield word.removeprefix(kind) or following


def contents(source: Path, words: Sequence[str], folder: Path, files: Files | None = None) -> Iterator[Part]:
    """The names and bytes of a source and of all that it may include; nothing is said of where they lie.

    Includes count whatever condition they stand under. A name that no folder has belongs to the compiler.
    """
    search, files = Search.of(words, folder), files or Files()
    data = source.read_bytes()
    yield Part("", data)
    numbers = {os.path.normpath(source): 0}
    waiting = [(reference, str(source)) for reference in (*search.forced, *references(data))]
    while waiting:
        reference, origin = waiting.pop()
        found = search.find(reference, origin, files)
        if found is None:
            yield Part(reference.name, ABSENT)
        elif (path := os.path.normpath(found[0])) in numbers:
            yield Part(reference.name, b"the file of number %d" % numbers[path])
        else:
            numbers[path], (place, data) = len(numbers), found
            is_text = reference.kind != BYTES
            yield Part(reference.name, data, is_text)
            waiting += [(inner, place) for inner in references(data)] if is_text else []


def references(data: bytes) -> tuple[Reference, ...]:
    """What a text names: constants of a network are large, and are read once."""
    return _remembered(data) if len(data) < SMALL else _references(data)


def _references(data: bytes) -> tuple[Reference, ...]:
    lines = re.sub(r"\\\r?\n", "", data.decode(errors="surrogateescape")).split("\n")
    text = "\n".join(line for line in lines if any(mark in line for mark in MARKS))
    if CHANGING.search(text):
        raise Unknown("a text that knows its name or the time")
    named = [_reference(words) for directive in DIRECTIVES for words in directive.findall(text)]
    for directive, kind in ((ASSEMBLER, DATA), (RAW, BYTES)):
        named += [Reference(_reference(words.lstrip(" \t\\")).name, kind) for words in directive.findall(text)]
    return tuple(dict.fromkeys(named))


_remembered = lru_cache(maxsize=4096)(_references)


def _reference(words: str) -> Reference:
    found = re.match(r'(["<])([^">\\]+)', words)
    if found is None:
        raise Unknown(f"a name that is computed: {words}")
    return Reference(found[2], found[1])
