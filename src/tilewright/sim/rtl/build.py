"""A device in Verilog as a shared library, built on first use and kept by what it is made of."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.sim.library import GUARD
from tilewright.sim.rtl.ports import TOP, Interface, interface, top_module
from tilewright.sim.rtl.reading import FLAGS, SUFFIXES, check_said, includes, read_module, run, verilator, version
from tilewright.toolchain.compiler import Compiler, _processor, cache_folder, compile_objects, find_compiler, locked

FOLDER = Path(__file__).parent
HARNESS, HEADER = FOLDER / "rtl_device.cpp", "tw_rtl_device.h"
ADAPTERS = FOLDER / "adapters"
FST, VCD = ".fst", ".vcd"
WAVES = {"": (), VCD: ("--trace",), FST: ("--trace-fst",)}
"""Suffix of a file with signals -> what verilator is told."""
RUNTIME = {"": ("verilated.cpp", "verilated_threads.cpp"), VCD: ("verilated_vcd_c.cpp",), FST: ("verilated_fst_c.cpp",)}
CPP_FLAGS = ("-std=c++17", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-w")
RUNTIME_FLAGS = (*CPP_FLAGS[:1], "-O1", *CPP_FLAGS[2:])


@dataclass(frozen=True)
class RtlDevice:
    """What is verilated."""

    name: str
    """Of the accelerator; for messages."""
    sources: tuple[Path, ...]
    top: str
    header: str
    """Macros for rtl_device.cpp: registers, the end of a job, the clock's divider."""
    parameters: Mapping[str, int | float] = field(default_factory=dict)
    """Of the accelerator; those that the module has in upper case are set."""

    @property
    def where(self) -> str:
        return ", ".join(path.name for path in self.sources)


def rtl_library(device: RtlDevice, waves: str = "") -> Path:
    """The library; `waves` is the suffix of a file that its signals are to go to."""
    if waves not in WAVES:
        raise CompileError(f"--waves *{waves}", "is no format of signals", f"name a file *{FST} or *{VCD}")
    folder = cache_folder() / "rtl"
    made = folder / f"{_key(device, waves)}.so"
    if made.is_file():
        return made
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock"):
            if not made.is_file():
                print(f"tilewright: verilating {device.where} (once) ...", file=sys.stderr, flush=True)
                _build_into(made, device, waves)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
    return made


def _key(device: RtlDevice, waves: str) -> str:
    words = [verilator(), version(), *_cpp().command, _processor(), device.top, device.header, waves]
    digest = hashlib.sha256(repr([*words, sorted(device.parameters.items())]).encode())
    around = [path for path in device.sources[0].parent.iterdir() if path.suffix in SUFFIXES]
    own = [HARNESS, GUARD, GUARD.parent / "user_device.h", *ADAPTERS.glob("*.v")]
    for path in sorted({*around, *device.sources, *own}):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _cpp() -> Compiler:
    """For C++: the system's where there is one, because zig builds a library of its own for it first."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return Compiler((found,)) if found else Compiler((find_compiler().command[0], "c++"))


def _build_into(made: Path, device: RtlDevice, waves: str) -> None:
    with tempfile.TemporaryDirectory(dir=made.parent) as draft:
        folder = Path(draft)
        interface = connected(device, folder)
        (folder / HEADER).write_text(f"{device.header}\n#define TW_MEM_BYTES {interface.width // 8}\n")
        _verilate(device, folder, waves)
        _compile(folder, waves)
        os.replace(folder / "device.so", made)


def connected(device: RtlDevice, folder: Path) -> Interface:
    """Its ports, checked; the top that connects them is written to the folder."""
    module = read_module(device.sources, device.top, device.where)
    given = {name.upper(): value for name, value in device.parameters.items() if name.upper() in module.parameters}
    if given:
        words = [f"-G{name}={value}" for name, value in given.items()]
        module = read_module(device.sources, device.top, device.where, words)
    found = interface(device.top, module.ports, device.where)
    (folder / f"{TOP}.v").write_text(top_module(device.top, found, module.ports, given))
    return found


def _verilate(device: RtlDevice, folder: Path, waves: str) -> None:
    words = [
        verilator(),
        "--cc",
        "--Mdir",
        str(folder),
        "--top-module",
        TOP,
        "-O3",
        "--x-assign",
        "fast",
        "--x-initial",
    ]
    words += ["fast", "--no-timing", *FLAGS, *WAVES[waves], f"+incdir+{device.sources[0].parent}", f"{TOP}.v"]
    done = run([*words, *map(str, [*device.sources, *sorted(ADAPTERS.glob("*.v"))])], folder)
    check_said(done, device.sources, device.top, device.where)


def _compile(folder: Path, waves: str) -> None:
    compiler, place = _cpp(), includes()
    own = [*folder.glob("*.cpp")]
    shutil.copy(HARNESS, folder / HARNESS.name)
    search = ("-I", str(place), "-I", str(place / "vltstd"), "-I", str(folder), "-I", str(GUARD.parent))
    marks = tuple(f"-DTW_WAVES_{suffix[1:].upper()}=1" for suffix in (waves,) if suffix)
    runtime = [place / name for suffix in dict.fromkeys(("", waves)) for name in RUNTIME[suffix]]
    flags: dict[Path, Sequence[str]] = {path: [*CPP_FLAGS, *search, *marks] for path in (*own, folder / HARNESS.name)}
    flags |= {path: [*RUNTIME_FLAGS, *search] for path in runtime}
    flags[GUARD] = ["-x", "c", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", *search]
    objects = compile_objects(flags, folder, compiler)
    libraries = ["-lz"] if waves == FST else []
    compiler.run(["-shared", *map(str, objects), "-o", "device.so", "-lpthread", *libraries], folder)
