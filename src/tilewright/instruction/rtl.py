"""The Verilog of an instruction beside its semantics: the same random operands, the same results."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.instruction.declaration import Instruction
from tilewright.instruction.semantics import TRIALS, Found, checking, operands_of
from tilewright.sim.rtl.build import compile_into, kept_library, library_key, verilating
from tilewright.sim.rtl.ports import IN, OUT, Port
from tilewright.sim.rtl.reading import check_said, read_module, run
from tilewright.sim.rtl.sources import files, reads_data

HARNESS = Path(__file__).parent / "c" / "verilog.cpp"
RESULT, CLOCK = "result", "clk"
SHOWN = "docs/instructions.md, Verilog"


def check_rtl(one: Instruction) -> bool:
    """False where there is nothing to compare, or no verilator."""
    if one.rtl is None or shutil.which("verilator") is None:
        return False
    found = Found()
    library = ctypes.CDLL(str(_library(one, one.rtl)))
    with _beside(one.rtl):
        library.tw_check(TRIALS, ctypes.byref(found))
    if found.differs:
        operands = ", ".join(f"{name} = {value:#x}" for name, value in operands_of(one, found).items())
        what = f"{one.rtl.name} gives {found.wanted:#x} for {operands}, the semantics {found.got:#x}"
        raise CompileError(f"{one.place}, rtl", what, "mend one of them")
    return True


@contextmanager
def _beside(rtl: Path) -> Iterator[None]:
    """Files that the Verilog reads as it begins are named as seen from its own folder."""
    if not reads_data([rtl], rtl.name):
        yield
        return
    before = Path.cwd()
    os.chdir(rtl.parent)
    try:
        yield
    finally:
        os.chdir(before)


def _library(one: Instruction, rtl: Path) -> Path:
    texts = checking(one, "\nuint32_t tw_rtl(uint32_t, uint32_t, uint32_t, uint32_t);\n", "tw_rtl(rd, rs1, rs2, imm)")
    key = library_key([*files([rtl]), HARNESS], one.top, str(one.latency), repr(sorted(texts.items())))

    def build(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        module = read_module([rtl], one.top, rtl.name)
        (folder / "tw_ports.h").write_text(_header(one, _checked(one, module.ports)))
        check_said(run(verilating(one.top, [rtl], [rtl.parent]), folder), [rtl], one.top, rtl.name)
        compile_into(folder, HARNESS, folder / "check.c")

    return kept_library(key, rtl.name, build)


def _wanted(one: Instruction) -> dict[str, Port]:
    """Operands are inputs, of the bits that the instruction has for them."""
    given = {"rd": 32 * one.accumulates, "rs1": 32, "rs2": 32 * one.reads_second, "imm": one.immediate_bits}
    return {name: Port(IN, bits) for name, bits in given.items() if bits} | {RESULT: Port(OUT, 32)}


def _checked(one: Instruction, ports: dict[str, Port]) -> dict[str, Port]:
    """Ports that are missing or of another width are named together."""
    wanted = _wanted(one)
    faults = [
        f"{port.direction} {name} of {port.bits} bits is missing" for name, port in wanted.items() if name not in ports
    ]
    faults += [
        f"{name} is an {ports[name].direction} of {ports[name].bits} bits, not an {port.direction} of {port.bits}"
        for name, port in wanted.items() if name in ports and ports[name] != port
    ]  # fmt: skip
    known = {**wanted, CLOCK: Port(IN, 1)}
    faults += [
        f"port {name} is not known" for name, port in ports.items() if port.direction == IN and name not in known
    ]
    if faults:
        raise CompileError(f"{one.place}, rtl", f"module {one.top}: {'; '.join(faults)}", SHOWN)
    return ports


def _header(one: Instruction, ports: dict[str, Port]) -> str:
    """Which ports the harness sets; how many edges the result takes."""
    bits = one.immediate_bits
    sets = {"rd": "rd", "rs1": "rs1", "rs2": "rs2", "imm": f"imm & {(1 << bits) - 1}u"}
    lines = "".join(f" top.{name} = {value};" for name, value in sets.items() if name in ports)
    return f"#define TW_SET(top){lines}\n#define TW_EDGES {one.latency if CLOCK in ports else 0}\n"
