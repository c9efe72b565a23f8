"""Processors of computers, as far as compilers and machines tell them apart."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError

NATIVE = "native"
"""Whatever this machine has."""
X86, ARM = "x86_64", "aarch64"
SSE = frozenset({"ssse3", "sse4_1", "sse4_2", "popcnt"})
AVX2 = SSE | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
NEON = frozenset({"asimd"})
DOTS = NEON | {"asimddp", "asimdhp", "atomics"}
MATRICES = DOTS | {"i8mm", "bf16", "sve"}


class Dot(Enum):
    """The instruction that sums products of bytes, by what C is told of it."""

    NONE = "TW_DOT_NONE"
    MADDUBS = "TW_DOT_MADDUBS"
    """AVX2: pairs of an unsigned and a signed byte, summed in 16 bits."""
    VNNI = "TW_DOT_VNNI"
    """AVX-512: fours of an unsigned and a signed byte, summed in 32 bits."""
    SDOT = "TW_DOT_SDOT"
    """Arm: fours of signed bytes, summed in 32 bits."""
    SMMLA = "TW_DOT_SMMLA"
    """Arm: two rows and two columns of eight signed bytes; it has SDOT as well."""


@dataclass(frozen=True)
class Vectors:
    """What kernels and the order of weights are made for."""

    bytes: int
    """Of a register."""
    dot: Dot

    @property
    def flags(self) -> tuple[str, ...]:
        """How C is told. Compilers take half of the widest registers for loops unless they are asked for all."""
        whole = ("-mprefer-vector-width=512",) if self.bytes == 64 else ()
        return (f"-DTW_VECTOR_BYTES={self.bytes}", f"-D{self.dot.value}=1", *whole)


KINDS = (
    (AVX512 | {"avx512_vnni"}, Vectors(64, Dot.VNNI)),
    (AVX512, Vectors(64, Dot.MADDUBS)),
    (AVX2, Vectors(32, Dot.MADDUBS)),
    (DOTS | {"i8mm"}, Vectors(16, Dot.SMMLA)),
    (DOTS, Vectors(16, Dot.SDOT)),
)
"""The first whose features are there."""
PLAIN = Vectors(16, Dot.NONE)


@dataclass(frozen=True)
class Processor:
    name: str
    machine: str
    """As `uname -m` calls its kind."""
    zig: str
    """What the pip-installed compiler calls it."""
    needs: frozenset[str]
    """What /proc/cpuinfo must list for code that was made for it to run."""

    def flags(self, is_zig: bool) -> tuple[str, ...]:
        """For a compiler of this kind of machine."""
        if is_zig:
            return (f"-mcpu={self.zig}",)
        if self.machine == ARM:
            return (f"-mcpu={self.name}",)
        level, _, more = self.name.partition("+")
        return (f"-march={level}", *(["-mavx512vnni"] if more else []))


PROCESSORS = {
    one.name: one
    for one in (
        Processor("x86-64-v2", X86, "x86_64_v2", SSE),
        Processor("x86-64-v3", X86, "x86_64_v3", AVX2),
        Processor("x86-64-v4", X86, "x86_64_v4", AVX512),
        Processor("x86-64-v4+vnni", X86, "x86_64_v4+avx512vnni", AVX512 | {"avx512_vnni"}),
        Processor("cortex-a53", ARM, "cortex_a53", NEON),
        Processor("cortex-a72", ARM, "cortex_a72", NEON),
        Processor("cortex-a76", ARM, "cortex_a76", DOTS),
        Processor("neoverse-n1", ARM, "neoverse_n1", DOTS),
        Processor("cortex-a710", ARM, "cortex_a710", MATRICES | {"sve2"}),
        Processor("neoverse-v1", ARM, "neoverse_v1", MATRICES),
        Processor("neoverse-n2", ARM, "neoverse_n2", MATRICES | {"sve2"}),
        Processor("neoverse-v2", ARM, "neoverse_v2", MATRICES | {"sve2"}),
    )
}


def check_processor(name: str) -> str:
    """The name, if it is known."""
    short = f"x86-64-{name}"
    if name != NATIVE and name not in PROCESSORS and short not in PROCESSORS:
        raise CompileError(f"--cpu {name}", "is unknown", f"known: {', '.join([NATIVE, *PROCESSORS])}")
    return short if short in PROCESSORS else name


def processor_flags(name: str, is_zig: bool) -> tuple[str, ...]:
    """How a compiler is told."""
    return ("-march=native",) if name == NATIVE else PROCESSORS[name].flags(is_zig)


def vectors_of(name: str) -> Vectors:
    """Of a processor; of this machine's where it is native."""
    features = _features() if name == NATIVE else PROCESSORS[name].needs
    return next((vectors for needed, vectors in KINDS if needed <= features), PLAIN)


def check_runs_here(name: str) -> None:
    """An error where this machine lacks what code for a processor may use: it would stop at an unknown instruction."""
    if name == NATIVE:
        return
    wanted, here = PROCESSORS[name], platform.machine()
    if here.lower() not in (wanted.machine, {X86: "amd64", ARM: "arm64"}[wanted.machine]):
        raise CompileError(
            f"--cpu {name}", f"is {wanted.machine}, this machine is {here}", "compile it, and run it there"
        )
    missing = sorted(wanted.needs - _features()) if _features() else []
    if missing:
        raise CompileError(
            f"--cpu {name}", f"this machine lacks {', '.join(missing)}", "choose one that it has, or --cpu native"
        )


def check_threads_here(threads: int) -> None:
    """An error where this machine has fewer processors than threads would keep busy."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads > here:
        raise CompileError(
            f"--threads {threads}", f"this process may use {here} processor{'s' * (here > 1)} of this machine",
            f"ask for at most {here}, or compile it, and run it elsewhere",
        )  # fmt: skip


@cache
def _features() -> frozenset[str]:
    """What this machine's processor says it has; nothing where that cannot be read."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    words = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(words.partition(":")[2].split())
