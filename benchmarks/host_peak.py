"""Multiply-accumulates per second that this machine's vectors reach in registers, measured."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tilewright.target.processors import NATIVE, processor_flags, vectors_of
from tilewright.toolchain.compiler import build_program, find_compiler

SOURCE = Path(__file__).parent / "host_contestants" / "peak.c"


@dataclass(frozen=True)
class Peak:
    fp32: float
    int8: float

    def share(self, kind: str, macs: int, seconds: float) -> float:
        """Of what the machine could do in that time."""
        return macs / seconds / (self.fp32 if kind == "fp32" else self.int8)


def measured_peak(threads: int) -> Peak:
    compiler = find_compiler()
    flags = ["-std=c99", "-O3", "-ffp-contract=fast", *vectors_of(NATIVE).flags]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "peak"
        chosen = [*flags, *processor_flags(NATIVE, compiler.is_zig)]
        build_program([SOURCE], chosen, ["pthread"], program, compiler, ["-O3"])
        done = subprocess.run([program, str(threads)], capture_output=True, text=True, check=True)
    return Peak(*map(float, done.stdout.split()))
