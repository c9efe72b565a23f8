"""Which files of a library kernels need: those that define what they name, and the headers that these include.

Names are compared as they stand in the text, without comments: a file too many is copied rather than one too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from tilewright.own_kernels.declaration import Library

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION = re.compile(r"^(?!static|else|return)[A-Za-z_][\w \t*\n]*?\b([A-Za-z_]\w*)\s*\([^;{}]*\)\s*\{", re.MULTILINE)
PROTOTYPE = re.compile(r"^[A-Za-z_][\w \t*\n]*\([^(){};]*\)\s*;", re.MULTILINE)
TABLE = re.compile(r"^(?!static)[A-Za-z_][\w \t*]*?\b([A-Za-z_]\w*)\s*\[[^;{}]*=\s*\{", re.MULTILINE)


class LibraryFiles:
    def __init__(self, library: Library) -> None:
        self.library, self.root = library, Path(library.path).resolve()

    def needed(self, texts: Iterable[str]) -> dict[str, Path]:
        """By their paths in the library: what sources with these texts need, and the licences."""
        found: dict[Path, None] = {}
        waiting = [path for text in texts for path in self._named(COMMENT.sub("", text), self.root)]
        while waiting:
            path = waiting.pop()
            if path not in found:
                found[path] = None
                waiting += self._named(_code(path), path.parent)
        licences = [path for pattern in self.library.licences for path in self.root.glob(pattern) if path.is_file()]
        return {path.relative_to(self.root).as_posix(): path for path in sorted({*found, *licences})}

    def _named(self, text: str, beside: Path) -> list[Path]:
        """What a text includes, and where the names in it are defined."""
        places = [beside, *(self.root / name for name in self.library.includes)]
        headers = [_first(name, places) for name in INCLUDE.findall(text)]
        sources = (self._definitions.get(word) for word in set(WORD.findall(text)))
        return [path for path in (*headers, *sources) if path is not None and path.is_relative_to(self.root)]

    @cached_property
    def _definitions(self) -> dict[str, Path]:
        """Functions and tables, and the files that define them."""
        paths = {path for pattern in self.library.sources for path in self.root.glob(pattern)}
        return {
            name: path
            for path in sorted(paths)
            for pattern in (FUNCTION, TABLE)
            for name in pattern.findall(_code(path))
        }


def _code(path: Path) -> str:
    """A file without its comments, and without what it only declares."""
    return PROTOTYPE.sub("", COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace")))


def _first(name: str, places: list[Path]) -> Path | None:
    return next((path.resolve() for place in places if (path := place / name).is_file()), None)
