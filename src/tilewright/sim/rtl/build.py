"""A device in Verilog as a shared library, built on first use and kept by what it is made of."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.library import GUARD
from tilewright.sim.rtl.ports import TOP, Interface, interface, top_module
from tilewright.sim.rtl.reading import (
    FLAGS,
    check_said,
    include_folders,
    includes,
    read_module,
    run,
    verilator,
    version,
)
from tilewright.sim.rtl.sources import digest_of, files, folders, reads_data, write_included
from tilewright.toolchain.compiler import (
    UNSANITISED,
    Compiler,
    _processor,
    cache_folder,
    compile_objects,
    find_compiler,
    locked,
)

FOLDER = Path(__file__).parent
HARNESS, HEADER = FOLDER / "rtl_device.cpp", "tw_rtl_device.h"
ADAPTERS = FOLDER / "adapters"
FST, VCD = ".fst", ".vcd"
WAVES = {"": (), VCD: ("--trace",), FST: ("--trace-fst",)}
"""Suffix of a file with signals -> what verilator is told."""
RUNTIME = {"": ("verilated.cpp", "verilated_threads.cpp"), VCD: ("verilated_vcd_c.cpp",), FST: ("verilated_fst_c.cpp",)}
CPP_FLAGS = ("-std=c++17", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-w")
UNIT = 200_000
"""Bytes of C++ that are compiled at a time, if there is more than one file."""
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
    included: Mapping[str, str] = field(default_factory=dict)
    """Files that its Verilog may include, by name; a file of that name beside it is not read."""

    @property
    def where(self) -> str:
        return ", ".join(path.name for path in self.sources)


def rtl_library(device: RtlDevice, waves: str = "") -> Path:
    """The library; `waves` is the suffix of a file that its signals are to go to."""
    if waves not in WAVES:
        raise CompileError(f"--waves *{waves}", "is no format of signals", f"name a file *{FST} or *{VCD}")
    return kept_library(_key(device, waves), device.where, lambda folder: _build_into(folder, device, waves))


def kept_library(key: str, where: str, build: Callable[[Path], None]) -> Path:
    """Of the cache; built where it is not there, as `device.so` of a folder."""
    folder = cache_folder() / "rtl"
    made = folder / f"{key}.so"
    if made.is_file():
        return made
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(made.with_suffix(".lock")):
            if not made.is_file():
                print(f"tilewright: verilating {where} (once) ...", file=sys.stderr, flush=True)
                with tempfile.TemporaryDirectory(dir=folder) as draft:
                    build(Path(draft))
                    os.replace(Path(draft) / "device.so", made)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
    return made


def _key(device: RtlDevice, waves: str) -> str:
    own = [HARNESS, GUARD, GUARD.parent / "user_device.h", *sorted(ADAPTERS.glob("*.v"))]
    words = [device.top, _header(device), waves]
    words += map(str, [*sorted(device.parameters.items()), *sorted(device.included.items())])
    return library_key([*files(device.sources), *own], *words)


def library_key(made_of: Sequence[Path], *words: str) -> str:
    """Also of the programs that build it."""
    return digest_of(made_of, verilator(), version(), *_cpp().command, _processor(), *words)


def _header(device: RtlDevice) -> str:
    """With the folder where it begins, if it reads files there."""
    if not reads_data(device.sources, device.where):
        return device.header
    return f"{device.header}#define TW_PLACE {json.dumps(str(device.sources[0].parent), ensure_ascii=False)}\n"


def _cpp() -> Compiler:
    """For C++: the system's where there is one, because zig builds a library of its own for it first."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return Compiler((found,)) if found else Compiler((find_compiler().command[0], "c++"))


def _build_into(folder: Path, device: RtlDevice, waves: str) -> None:
    interface = connected(device, folder)
    text = f"{_header(device)}\n#define TW_MEM_BYTES {interface.width // 8}\n"
    (folder / HEADER).write_text(text, encoding="utf-8")
    _verilate(device, folder, waves)
    compile_into(folder, HARNESS, GUARD, waves)


def connected(device: RtlDevice, folder: Path) -> Interface:
    """Its ports, checked; the top that connects them is written to the folder."""
    write_included(device.included, folder)
    module = read_module(device.sources, device.top, device.where, included=device.included)
    given = {name.upper(): value for name, value in device.parameters.items() if name.upper() in module.parameters}
    if given:
        words = [f"-G{name}={value}" for name, value in given.items()]
        module = read_module(device.sources, device.top, device.where, words, device.included)
    found = interface(device.top, module.ports, device.where)
    (folder / f"{TOP}.v").write_text(top_module(device.top, found, module.ports, given))
    return found


def _verilate(device: RtlDevice, folder: Path, waves: str) -> None:
    sources = [folder / f"{TOP}.v", *device.sources, *sorted(ADAPTERS.glob("*.v"))]
    done = run(verilating(TOP, sources, folders(device.sources), WAVES[waves]), folder)
    check_said(done, device.sources, device.top, device.where)


def verilating(top: str, sources: Sequence[Path], places: Sequence[Path], more: Sequence[str] = ()) -> list[str]:
    """The command that writes C++ of a module into the folder in which it runs."""
    words = [verilator(), "--cc", "--Mdir", ".", "--prefix", f"V{TOP}", "--top-module", top, "-O3", "--no-timing"]
    words += ["--x-assign", "fast", "--x-initial", "fast", *FLAGS, *more, *include_folders(places)]
    return [*words, *map(str, sources)]


def compile_into(folder: Path, harness: Path, in_c: Path, waves: str = "") -> None:
    """`device.so` of what verilator wrote into a folder, a harness and a file in C."""
    compiler, search = _cpp(), _search()
    shutil.copy(harness, folder / harness.name)
    own = [*sorted(folder.glob("V*.cpp")), folder / harness.name]
    marks = [f"-DTW_WAVES_{waves[1:].upper()}=1"] if waves else []
    flags: dict[Path, Sequence[str]] = {unit: [*CPP_FLAGS, *search, *marks] for unit in _units(own, folder)}
    flags[in_c] = ["-x", "c", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", *search]
    runtime = [includes() / name for suffix in dict.fromkeys(("", waves)) for name in RUNTIME[suffix]]
    objects = [*compile_objects(flags, folder, compiler), *(_runtime_object(path, compiler) for path in runtime)]
    libraries = ["-lz"] if waves == FST else []
    compiler.run([*UNSANITISED, "-shared", *map(str, objects), "-o", "device.so", "-lpthread", *libraries], folder)


def _search() -> list[str]:
    """Where headers lie."""
    return [word for place in (includes(), includes() / "vltstd", GUARD.parent) for word in ("-I", str(place))]


def _runtime_object(source: Path, compiler: Compiler) -> Path:
    """Of verilator's own; every device has the same, kept beside their libraries."""
    made_of = [source, *sorted(source.parent.glob("*.h"))]
    made = cache_folder() / "rtl" / f"{library_key(made_of, *RUNTIME_FLAGS)}.o"
    if made.is_file():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with locked(made.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=made.parent) as draft:
        if not made.is_file():
            compiler.compile(source, [*RUNTIME_FLAGS, *_search()], f"{source.stem}.o", Path(draft))
            os.replace(Path(draft) / f"{source.stem}.o", made)
    return made


def _units(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Files that include sources, as many each as fit: reading verilator's headers takes longer than most of them."""
    units: list[list[Path]] = [[]]
    for path in sources:
        if sum(one.stat().st_size for one in [*units[-1], path]) > UNIT and units[-1]:
            units.append([])
        units[-1].append(path)
    made = [folder / f"unit{number}.cpp" for number in range(len(units))]
    for path, unit in zip(made, units, strict=True):
        path.write_text("".join(f'#include "{one.name}"\n' for one in unit))
    return made
