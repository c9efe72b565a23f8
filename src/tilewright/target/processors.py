"""Processors of computers, as far as compilers and machines tell them apart."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings
from enum import Enum
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass

NATIVE = "native"
"""Whatever this machine has."""
X86, ARM, RISCV = "x86_64", "aarch64", "riscv64"
SSE = frozenset({"ssse3", "sse4_1", "sse4_2", "popcnt"})
AVX2 = SSE | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
VNNI = AVX512 | {"avx512_vnni"}
TILES = VNNI | {"amx_tile", "amx_int8"}
CLIENT = AVX2 | {"avx_vnni"}
NEON = frozenset({"asimd"})
DOTS = NEON | {"asimddp", "asimdhp", "atomics"}
MATRICES = DOTS | {"i8mm", "bf16", "sve"}
GENERAL = frozenset("imafdc")
WITH_VECTORS = GENERAL | {"v"}
BITS = frozenset({"zba", "zbb", "zbs"})
WITH_SHORT = WITH_VECTORS | {"zvfhmin"}
"""And vectors of floats of 16 bits, as far as these become others."""
ASK_FOR_TILES = (158, 0x1023, 18)
"""Linux's arch_prctl(ARCH_REQ_XCOMP_PERM, the state of tiles) on x86-64."""
SHORTEST_VECTORS = 128
"""Bits of a register, of every RISC-V processor with vectors."""


class Dot(Enum):
    """The instruction that sums products of bytes, by what C is told of it."""

    NONE = "TW_DOT_NONE"
    MADDUBS = "TW_DOT_MADDUBS"
    """AVX2: pairs of an unsigned and a signed byte, summed in 16 bits."""
    VNNI = "TW_DOT_VNNI"
    """AVX-512, or AVX2 on client processors: fours of an unsigned and a signed byte, summed in 32 bits."""
    SDOT = "TW_DOT_SDOT"
    """Arm: fours of signed bytes, summed in 32 bits."""
    SMMLA = "TW_DOT_SMMLA"
    """Arm: two rows and two columns of eight signed bytes; it has SDOT as well."""
    WIDENING = "TW_DOT_WIDENING"
    """RISC-V: products of numbers of 16 bits are added to sums of 32; registers may have any length."""


@dataclass(frozen=True)
class Vectors:
    """What kernels and the order of weights are made for."""

    bytes: int
    """Of a register; where registers may have any length, of as many as one instruction may read."""
    dot: Dot
    has_tiles: bool = False
    """Whether 16 rows of bytes are multiplied with 16 columns at once (AMX)."""

    @property
    def flags(self) -> tuple[str, ...]:
        """How C is told. Compilers take half of the widest registers for loops unless they are asked for all."""
        whole = ("-mprefer-vector-width=512",) if self.bytes == 64 and self.dot in (Dot.VNNI, Dot.MADDUBS) else ()
        tiles = ("-DTW_HAS_TILES=1",) if self.has_tiles else ()
        return (f"-DTW_VECTOR_BYTES={self.bytes}", f"-D{self.dot.value}=1", *tiles, *whole)


KINDS = (
    (TILES, Vectors(64, Dot.VNNI, has_tiles=True)),
    (VNNI, Vectors(64, Dot.VNNI)),
    (AVX512, Vectors(64, Dot.MADDUBS)),
    (CLIENT, Vectors(32, Dot.VNNI)),
    (AVX2, Vectors(32, Dot.MADDUBS)),
    (DOTS | {"i8mm"}, Vectors(16, Dot.SMMLA)),
    (DOTS, Vectors(16, Dot.SDOT)),
    (WITH_VECTORS, Vectors(64, Dot.WIDENING)),
)
"""The first whose features are there."""
PLAIN = Vectors(16, Dot.NONE)


MORE_FLAGS = {
    "": (),
    "vnni": ("-mavx512vnni",),
    "avxvnni": ("-mavxvnni",),
    "amx": ("-mavx512vnni", "-mamx-tile", "-mamx-int8"),
}
"""How compilers other than zig are told what follows a level of x86-64."""


@dataclass(frozen=True)
class Processor:
    name: str
    machine: str
    """As `uname -m` calls its kind."""
    zig: str
    """What the pip-installed compiler calls it."""
    needs: frozenset[str]
    """What /proc/cpuinfo must list for code that was made for it to run."""
    vector_bits: int = 0
    """Of a register, at least, where processors of one kind differ in it."""

    def flags(self, is_zig: bool) -> tuple[str, ...]:
        """For a compiler of this kind of machine."""
        if is_zig:
            return (f"-mcpu={self.zig}",)
        if self.machine == ARM:
            return (f"-mcpu={self.name}",)
        if self.machine == RISCV:
            letters = [word for word in self.zig.split("+")[1:] if len(word) == 1]
            others = [word for word in self.zig.split("+")[1:] if len(word) > 1]
            return (f"-march={'_'.join(['rv64gc' + ''.join(letters), *others])}", "-mabi=lp64d")
        level, _, more = self.name.partition("+")
        return (f"-march={level}", *MORE_FLAGS[more])


PROCESSORS = {
    one.name: one
    for one in (
        Processor("x86-64-v2", X86, "x86_64_v2", SSE),
        Processor("x86-64-v3", X86, "x86_64_v3", AVX2),
        Processor("x86-64-v4", X86, "x86_64_v4", AVX512),
        Processor("x86-64-v3+avxvnni", X86, "x86_64_v3+avxvnni", CLIENT),
        Processor("x86-64-v4+vnni", X86, "x86_64_v4+avx512vnni", VNNI),
        Processor("x86-64-v4+amx", X86, "x86_64_v4+avx512vnni+amx_tile+amx_int8", TILES),
        Processor("cortex-a53", ARM, "cortex_a53", NEON),
        Processor("cortex-a72", ARM, "cortex_a72", NEON),
        Processor("cortex-a76", ARM, "cortex_a76", DOTS),
        Processor("neoverse-n1", ARM, "neoverse_n1", DOTS),
        Processor("cortex-a710", ARM, "cortex_a710", MATRICES | {"sve2"}),
        Processor("neoverse-v1", ARM, "neoverse_v1", MATRICES),
        Processor("neoverse-n2", ARM, "neoverse_n2", MATRICES | {"sve2"}),
        Processor("neoverse-v2", ARM, "neoverse_v2", MATRICES | {"sve2"}),
        Processor("rv64gc", RISCV, "baseline_rv64", GENERAL),
        Processor("rv64gcv", RISCV, "baseline_rv64+v", WITH_VECTORS, SHORTEST_VECTORS),
        Processor("k230", RISCV, "baseline_rv64+v+zba+zbb+zbs", WITH_VECTORS | BITS, SHORTEST_VECTORS),
        Processor("spacemit-x60", RISCV, "baseline_rv64+v+zba+zbb+zbs+zvfhmin+zvl256b", WITH_SHORT | BITS, 256),
        Processor("x280", RISCV, "baseline_rv64+v+zba+zbb+zvfhmin+zvl512b", WITH_SHORT | BITS - {"zbs"}, 512),
    )
}


def check_processor(name: str) -> str:
    """The name, if it is known."""
    name = ALIASES.get(name, name)
    short = f"x86-64-{name}"
    if name != NATIVE and name not in PROCESSORS and short not in PROCESSORS:
        raise CompileError(f"--cpu {name}", "is unknown", f"known: {', '.join([NATIVE, *PROCESSORS, *ALIASES])}")
    return short if short in PROCESSORS else name


def processor_flags(name: str, is_zig: bool) -> tuple[str, ...]:
    """How a compiler is told."""
    return ("-march=native",) if name == NATIVE else PROCESSORS[name].flags(is_zig)


ALIASES = {"alderlake": "x86-64-v3+avxvnni", "sapphirerapids": "x86-64-v4+amx"}
"""Names of processors by which some know what they have."""


def vectors_of(name: str) -> Vectors:
    """Of a processor; of this machine's where it is native."""
    features = _features() if name == NATIVE else PROCESSORS[name].needs
    return next((vectors for needed, vectors in KINDS if needed <= features), PLAIN)


def is_here(name: str) -> bool:
    """Whether this machine is of a processor's kind."""
    machine = platform.machine().lower()
    return name == NATIVE or PROCESSORS[name].machine == {"amd64": X86, "arm64": ARM}.get(machine, machine)


def check_runs_here(name: str) -> None:
    """An error where this machine lacks what code for a processor may use: it would stop at an unknown instruction."""
    if name == NATIVE:
        return
    wanted, here = PROCESSORS[name], platform.machine()
    if not is_here(name):
        emulated = ", or `tilewright run` it, which emulates it" if wanted.machine == RISCV else ""
        raise CompileError(
            f"--cpu {name}", f"is {wanted.machine}, this machine is {here}", f"compile it, and run it there{emulated}"
        )
    missing = sorted(wanted.needs - _features()) if _features() else []
    if missing:
        raise CompileError(
            f"--cpu {name}", f"this machine lacks {', '.join(missing)}",
            "compile it, and run it on one that has them; here --cpu native runs",
        )  # fmt: skip


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
    words = next((line for line in lines if line.startswith(("flags", "Features", "isa"))), "").partition(":")[2]
    found = _extensions(words.strip()) if words.strip().startswith("rv64") else frozenset(words.split())
    if "amx_tile" in found and not _tiles_are_permitted():
        warnings.warn("the kernel refuses AMX's tiles to this process: bytes are multiplied without them", stacklevel=2)
        return found - {"amx_tile", "amx_int8", "amx_bf16"}
    return found


def _tiles_are_permitted() -> bool:
    """Whether the kernel of this machine, which has to be asked for tiles, grants them."""
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(*ASK_FOR_TILES) == 0


def _extensions(isa: str) -> frozenset[str]:
    """Of RISC-V, from such as rv64imafdcv_zba: letters, and names of several."""
    letters, *others = isa.removeprefix("rv64").split("_")
    return frozenset([*letters, *others])
