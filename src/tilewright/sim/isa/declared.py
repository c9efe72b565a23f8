"""A user's own instruction as the simulator has it: which words it is, and a function in C of its operands."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.toolchain.compiler import find_compiler
from tilewright.toolchain.shared_library import library_of

U32 = ctypes.c_uint32
FUNCTION = "tw_instruction"
"""uint32_t tw_instruction(uint32_t rd, uint32_t rs1, uint32_t rs2, uint32_t imm)"""


@dataclass(frozen=True)
class CustomInstruction:
    name: str
    mask: int
    match: int
    """A word is this instruction where its bits of the mask are these."""
    reads: int
    """1: rs2 too; 2: the old rd too; 3: both."""
    latency: int
    """Cycles in which the core does nothing else."""
    immediate_bits: int
    texts: tuple[tuple[str, str], ...] = field(repr=False)
    """Sources and headers of the function, by their names."""


class CDeclared(ctypes.Structure):
    """`declared` of engine/declared.h."""

    _fields_ = [
        *((name, U32) for name in ("mask", "match", "reads", "latency", "immediate_bits")),
        ("compute", ctypes.c_void_p),
    ]


def declare(library: ctypes.CDLL, sim: int, one: CustomInstruction) -> None:
    """Put it into a simulator in which nothing has run yet. What was loaded stays so as long as the process."""
    address = ctypes.cast(getattr(_loaded(_built(one.texts)), FUNCTION), ctypes.c_void_p)
    row = CDeclared(one.mask, one.match, one.reads, one.latency, one.immediate_bits, address)
    if not library.tw_declare(sim, ctypes.byref(row)):
        raise CompileError(f"instruction {one.name}", "is one too many for a core", "declare at most 32")


@cache
def _built(texts: tuple[tuple[str, str], ...]) -> Path:
    return library_of(dict(texts), "instructions", find_compiler())


@cache
def _loaded(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def words(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """As a CustomInstruction has them."""
    return tuple(sorted(texts.items()))
