"""How many instructions a program of RISC-V executes under qemu-riscv64, those of vectors apart."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tilewright.emulator.counting import BlockCost
from tilewright.emulator.qemu_counting import BlockTable, plugin
from tilewright.emulator.qemu_process import SECOND_INTERFACE, version_of
from tilewright.ir.types import Array

VECTOR_ARITHMETIC, LOADS, STORES = 0x57, 0x07, 0x27
VECTOR_WIDTHS = (0, 5, 6, 7)
"""Of what loads and stores of vectors move, where those of floats have others."""
PROGRAM_HEADERS, HEADER_SIZE = struct.Struct("<32xQ14xHH"), 56
SEGMENT = struct.Struct("<IIQQQQQQ")
LOADED = 1


@dataclass(frozen=True)
class Counts:
    scalar: int
    vector: int

    @property
    def all(self) -> int:
        return self.scalar + self.vector

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.scalar - other.scalar, self.vector - other.vector)


@dataclass(frozen=True)
class Code:
    """An ELF of 64 bits."""

    path: Path

    @cached_property
    def _parts(self) -> list[tuple[int, bytes]]:
        data = self.path.read_bytes()
        first, size, count = PROGRAM_HEADERS.unpack_from(data)
        assert size == HEADER_SIZE
        headers = [SEGMENT.unpack_from(data, first + i * size) for i in range(count)]
        return [(h[3], data[h[2] : h[2] + h[5]]) for h in headers if h[0] == LOADED]

    def vectors(self, address: int, size: int) -> int:
        """Instructions of vectors among some bytes."""
        found, at, code = 0, 0, self._bytes(address, size)
        while at < len(code):
            is_short = code[at] & 3 != 3
            found += not is_short and _is_vector(int.from_bytes(code[at : at + 4], "little"))
            at += 2 if is_short else 4
        return found

    def _bytes(self, address: int, size: int) -> bytes:
        parts = ((address - base, data) for base, data in self._parts)
        return next((data[at : at + size] for at, data in parts if 0 <= at < len(data)), b"")


def _is_vector(word: int) -> bool:
    opcode, width = word & 0x7F, word >> 12 & 7
    return opcode == VECTOR_ARITHMETIC or (opcode in (LOADS, STORES) and width in VECTOR_WIDTHS)


def counted(emulator: Sequence[str], program: Path, arguments: Sequence[str], folder: Path) -> Counts:
    """Of all that the program does."""
    interface = 2 if version_of(emulator[0])[0] >= SECOND_INTERFACE else 1
    with tempfile.TemporaryDirectory() as place:
        table = BlockTable(Path(place), lambda address, size: BlockCost(0, 0, 0))
        command = [
            *emulator, "-plugin", f"{plugin(interface)},table={table.table},events={table.events_file}", str(program),
            *arguments,
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.read()
        assert process.returncode == 0, f"{command} ended with {process.returncode}"
        return _sum(Code(program), table)


def _sum(code: Code, table: BlockTable) -> Counts:
    known: Array = table._blocks[: table._used]
    vectors = np.array([code.vectors(int(one["address"]), int(one["bytes"])) for one in known], np.uint64)
    vector = int((known["executed"] * vectors).sum())
    return Counts(table.instructions - vector, vector)
