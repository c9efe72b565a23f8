"""Which instructions of a RISC-V program compute in floating point, or move such numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.sim.program.elf import sections

CODE = (".text", ".code")
OPCODES = {0x07: "load", 0x27: "store", 0x43: "fmadd", 0x47: "fmsub", 0x4B: "fnmsub", 0x4F: "fnmadd", 0x53: "op"}
SHORT = {(0, 3): "c.flw", (0, 7): "c.fsw", (2, 3): "c.flwsp", (2, 7): "c.fswsp"}
"""By the two bits at the end and the three at the start of an instruction of 16 bits."""


def float_instructions(elf: bytes) -> Iterator[str]:
    """All of them, as their place and kind."""
    found = sections(elf)
    for name in CODE:
        for at, kind in _in(found.get(name, b"")):
            yield f"{name}+{at:#x} {kind}"


def _in(code: bytes) -> Iterator[tuple[int, str]]:
    at = 0
    while at + 2 <= len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        is_long = half & 3 == 3
        kind = OPCODES.get(half & 0x7F) if is_long else SHORT.get((half & 3, half >> 13))
        if kind and half:
            yield at, kind
        at += 4 if is_long else 2
