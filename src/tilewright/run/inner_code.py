"""Which functions of a program lie in L1: as many as fit what a plan leaves free."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tilewright.records import dataclass
from tilewright.sim.program.elf import sections

TEXT = ".text."
"""What the sections of functions begin with; the linker joins those of one name."""

ALIGNMENT = 16
"""Bytes of a line of the instruction caches: at most so many are lost at the ends."""


@dataclass(frozen=True)
class Code:
    """A function, or several of one name."""

    section: str
    bytes: int
    runs: int
    """How often a run of the network comes to it, roughly."""

    @property
    def name(self) -> str:
        return self.section.removeprefix(TEXT)


def codes(objects: Iterable[tuple[Path, int]]) -> list[Code]:
    """The functions of objects, given how often the code of each is run; never, of those that are not asked about."""
    found: dict[str, Code] = {}
    for path, runs in objects:
        for name, data in sections(path.read_bytes()).items():
            if name.startswith(TEXT):
                known = found.get(name, Code(name, 0, 0))
                found[name] = Code(name, known.bytes + -(-len(data) // 4) * 4, max(known.runs, runs))
    return list(found.values())


def chosen(found: Iterable[Code], free: int) -> list[Code]:
    """Those that are run most often, and the smallest of them first, as far as they fit."""
    left, taken = free - 2 * ALIGNMENT, []
    for code in sorted(found, key=lambda code: (-code.runs, code.bytes, code.section)):
        if code.runs and code.bytes <= left:
            left -= code.bytes
            taken.append(code)
    return taken


def functions(taken: Iterable[Code]) -> str:
    """The lines of a linker script that name them."""
    return "".join(f"*({code.section})\n" for code in taken)
