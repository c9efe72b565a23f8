"""The CV32E40P itself: its RTL from PyPI, built with Verilator and run on a memory image."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.toolchain.compiler import cache_folder

BENCH = Path(__file__).parent / "rtl"
SWITCH = "TILEWRIGHT_RTL"
PACKAGE = "pythondata_cpu_cv32e40p"
FLAGS = ["--cc", "--exe", "--build", "-O3", "-CFLAGS", "-O2", "-Wno-fatal", "-Wno-lint", "-Wno-BLKANDNBLK"]
RECORD = struct.Struct("<13I")
NEVER = 0xFFFF_FFFF


@dataclass(frozen=True)
class Store:
    address: int
    lanes: int
    """A bit per byte of the word at the address."""
    data: int


@dataclass(frozen=True)
class Retired:
    """What one instruction did."""

    cycle: int
    pc: int
    writes: tuple[tuple[int, int], ...]
    """Registers and their new values; a later one wins."""
    stores: tuple[Store, ...]


@dataclass(frozen=True)
class RtlRun:
    cycles: int
    """From the first instruction to the last one, both leaving the decode stage."""
    trace: list[Retired]
    memory: bytes


def why_not() -> str:
    """Why the RTL cannot run here; empty if it can."""
    if not os.environ.get(SWITCH):
        return (
            f"runs the CV32E40P's RTL: set {SWITCH}=1 (needs verilator, a C++ compiler and {PACKAGE.replace('_', '-')})"
        )
    if shutil.which("verilator") is None:
        return "verilator is not installed"
    return "" if importlib.util.find_spec(PACKAGE) else f"pip install {PACKAGE.replace('_', '-')}"


def rtl_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "system_verilog"


def rtl_sources() -> list[str]:
    """The files of the core's manifest, without its tracers."""
    root = rtl_folder()
    names = re.findall(r"^\$\{DESIGN_RTL_DIR\}/(\S+)", (root / "cv32e40p_manifest.flist").read_text(), re.MULTILINE)
    return [str((root / "rtl" / name).resolve()) for name in names if "trace" not in name and "tb_wrapper" not in name]


@cache
def bench() -> Path:
    """The program that runs the core; built once for each version of its sources."""
    own = [BENCH / "bench.sv", BENCH / "bench.cpp"]
    digest = hashlib.sha256(" ".join([*FLAGS, str(rtl_folder())]).encode())
    for path in own:
        digest.update(path.read_bytes())
    target = cache_folder() / "rtl" / digest.hexdigest()[:24]
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            os.replace(_verilate(own, Path(folder)), target)
    return target


def _verilate(own: list[Path], folder: Path) -> Path:
    include = [f"-I{rtl_folder() / 'rtl' / 'include'}", f"-I{rtl_folder() / 'bhv'}"]
    command = ["verilator", *FLAGS, *include, "--top-module", "bench", "--Mdir", str(folder), "-o", "bench"]
    done = subprocess.run([*command, *rtl_sources(), *map(str, own)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "bench"


def run_rtl(image: bytes, base: int, begin: int, end: int, trace: bool = False, max_cycles: int = 50_000_000) -> RtlRun:
    """Run an image from its base until the instruction at `end` is reached; count from `begin`."""
    with tempfile.TemporaryDirectory() as name:
        memory, log = Path(name) / "memory", Path(name) / "trace"
        memory.write_bytes(image)
        numbers = [base, base, begin, end, max_cycles]
        command = [str(bench()), str(memory), *map(str, numbers), *([str(log)] if trace else [])]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        reached = re.search(r"^(\d+) (\d+)$", printed, re.MULTILINE)
        assert reached, f"the RTL did not reach {end:#x}: {printed or 'too many cycles'}"
        first, last = int(reached[1]), int(reached[2])
        return RtlRun(last - first, _parse(log.read_bytes(), end) if trace else [], memory.read_bytes())


def _parse(log: bytes, end: int) -> list[Retired]:
    records = []
    for cycle, pc, result, value, loaded, data, stores, *rest in RECORD.iter_unpack(log):
        if pc == end:
            break
        writes = tuple((register, new) for register, new in ((result, value), (loaded, data)) if register)
        records.append(Retired(cycle, pc, writes, tuple(Store(*rest[3 * i : 3 * i + 3]) for i in range(stores))))
    return records
