"""Networks for processors that this machine may not have: built with zig, run by qemu's user mode.

The programs have no library of an operating system, which zig would take minutes to build for another machine.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support.processors import processor_of
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.host import HostNetwork, HostPrograms
from tilewright.target.processors import PROCESSORS, RISCV
from tilewright.target.target import Target
from tilewright.toolchain.compiler import BARE, find_cross_compiler, link_objects

LIBRARY = Path(__file__).parents[3] / "src" / "tilewright" / "targets" / "bare" / "runtime" / "libc"
TIMEOUT = 600
LENGTHS = (128, 256, 1024)
"""Bits of RISC-V's vector registers."""


def emulator(processor: str) -> str:
    return f"qemu-{PROCESSORS[processor].machine}"


def needs_emulator(processor: str) -> pytest.MarkDecorator:
    """For tests of a processor; code for this machine's own kind is emulated too, as it may lack what is asked for."""
    missing = platform.system() != "Linux" or shutil.which(emulator(processor)) is None
    return pytest.mark.skipif(missing, reason=f"no {emulator(processor)} (apt install qemu-user)")


def processors(name: str) -> list[str]:
    """As QEMU calls them: all that run code for one."""
    if PROCESSORS[name].machine != RISCV:
        return ["max"]
    least = PROCESSORS[name].vector_bits
    return [f"rv64,v=true,vlen={bits}" for bits in LENGTHS if bits >= least] if least else ["rv64"]


class ForeignProgram(HostPrograms):
    """A network as a program for another machine's Linux."""

    def __init__(self, schedule: Schedule, files: Mapping[str, str], name: str) -> None:
        self.graph, self.processor = schedule.graph, processor_of(schedule.target)
        super().__init__([HostNetwork(schedule, files, Writer(schedule, symbol_prefix(name)))])

    def _build(self, target: Target, cc: str | None) -> None:
        for path in (*LIBRARY.iterdir(), Path(__file__).parent / "start.c"):
            shutil.copy(path, self.folder)
        machine = ["-target", f"{PROCESSORS[processor_of(target)].machine}-freestanding-none"]
        compiler = find_cross_compiler()
        objects = self._objects(target, compiler, ("start.c", "math.c"), [*machine, "-ffreestanding"])
        flags = [*machine, "-nostdlib", "-Os"]
        try:
            link_objects(objects, [], self.folder / "program", compiler, [*flags, BARE, "-Wl,--gc-sections"])
        except CompileError:
            link_objects(objects, ["compiler_rt"], self.folder / "program", compiler, flags)

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """By their names in the schedule; registers of other lengths give the same bits."""
        given = b"".join(np.ascontiguousarray(inputs[name]).tobytes() for name in self.graph.inputs)
        first, *others = (self._ran(cpu, given) for cpu in processors(self.processor))
        assert all(one == first for one in others), "results depend on the length of registers"
        return self._arrays(first)

    def _ran(self, cpu: str, given: bytes) -> bytes:
        command = [emulator(self.processor), "-cpu", cpu, str(self.folder / "program")]
        done = subprocess.run(command, input=given, capture_output=True, timeout=TIMEOUT)
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr.decode()}"
        return done.stdout

    def _arrays(self, data: bytes) -> dict[str, Array]:
        found, at = {}, 0
        for tensor in dict.fromkeys(self.graph.outputs):
            kind = self.graph.types[tensor]
            found[tensor] = np.frombuffer(data, kind.element, kind.elements, at).reshape(kind.shape)
            at += kind.bytes
        assert at == len(data)
        return found
