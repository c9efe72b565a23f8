"""The files that a device in Verilog is made of: those that are named, what they include, and what they read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tilewright.errors import CompileError

SUFFIXES = (".v", ".sv", ".vh", ".svh")
DATA = (".hex", ".mem", ".dat", ".bin", ".txt")
"""Suffixes of what `$readmemh` and `$readmemb` are given."""
READS = re.compile(r'\$readmem[hb]\s*\(\s*(?:"([^"]+)")?')
"""The name, or nothing where a parameter has it."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def folders(sources: Sequence[Path]) -> list[Path]:
    """Where includes and data are looked for, in this order."""
    return list(dict.fromkeys(path.parent for path in sources))


def files(sources: Sequence[Path], suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """The sources, and what lies beside them. Simulators read data when they begin, synthesis puts them into gates."""
    beside = {path for folder in folders(sources) for path in folder.iterdir() if path.suffix in suffixes}
    return sorted({*beside, *sources})


def write_included(texts: Mapping[str, str], folder: Path) -> None:
    """Files that sources may include, where a tool that reads them runs: it looks there first."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def digest_of(paths: Iterable[Path], *words: str) -> str:
    """Of what is in files, and of what else counts."""
    digest = hashlib.sha256(repr(words).encode())
    for path in paths:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def reads_data(sources: Sequence[Path], where: str) -> bool:
    """Does it read files as it begins, itself or in what it includes? One that a source names and that is not beside
    the first source is refused: memory would be zeros."""
    read = {path: READS.findall(COMMENT.sub("", path.read_text(errors="replace"))) for path in files(sources)}
    for name in (name for path in sources for name in read[path]):
        if name and not (sources[0].parent / name).is_file():
            what = f"$readmem names {name}, which is no file of {sources[0].parent}"
            raise CompileError(where, what, f"put it beside {sources[0].name}")
    return any(read.values())
