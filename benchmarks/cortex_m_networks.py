"""Every shared network on Cortex-M cores: cycles, instructions, RAM, flash, code; agreement; what is refused.

python benchmarks/cortex_m_networks.py [--core NAME] [--minutes N] [--jobs N] [MODEL ...]

`integers` are the cycles without floats at the ends: QuantizeLinear and DequantizeLinear. Cycles are estimates with
memories that never wait; flash is what the program puts there, code the part of it that is no constant.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.rv32_networks import FLOAT_ENDS, INT8
from benchmarks.verdicts import print_verdicts, verdict
from tests.support.networks import models, named_or

from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.sim.program.elf import MACHINE_ARM, read_elf
from tilewright.target.settings import Settings

CORES = ("cortex-m4", "cortex-m33", "cortex-m7", "cortex-m0plus")
USUAL = [*(path for name in INT8 for path in models(f"mlperf_tiny/{name}.tflite")), *models("qdq/*/*.onnx")]
FLASH_START = 0x0800_0000


def _figures(program: Program, check: Check) -> str:
    found = program.profile().profile
    instructions, cycles = check.result.instructions or 0, check.result.cycles or 0
    ends = sum(layer.cycles for layer in found.layers if layer.operator in FLOAT_ENDS)
    each = f" ({(cycles - ends) / found.macs:.2f} per MAC)" if found.macs else ""
    schedule = program.compiled.schedule
    flash, code = _flash_and_code(program)
    return (
        f"{cycles:,} cycles, {cycles - ends:,} integers{each}, {instructions:,} instructions, "
        f"{schedule.arena_bytes:,} bytes of arena, {schedule.io_bytes:,} of inputs and outputs, "
        f"{flash:,} of flash, {code:,} of them code"
    )


def _flash_and_code(program: Program) -> tuple[int, int]:
    """Bytes that a program has in flash, and how many of them are code: what lies before the first constant."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.elf"
        program.save_elf(path, program.random_inputs())
        elf = read_elf(path, MACHINE_ARM)
    flash = sum(len(part.data) for part in elf.segments if part.load_address >= FLASH_START and part.address < 1 << 29)
    sections = _sections(elf.data)
    return flash, sections[".text"]


def _sections(data: bytes) -> dict[str, int]:
    """Bytes of the sections of an ELF of 32 bits, by name."""

    def number(at: int, size: int = 4) -> int:
        return int.from_bytes(data[at : at + size], "little")

    headers = [number(32) + index * number(46, 2) for index in range(number(48, 2))]
    names = number(headers[number(50, 2)] + 16)
    starts = [names + number(header) for header in headers]
    sizes = [number(header + 20) for header in headers]
    return {data[at : data.index(0, at)].decode(): size for at, size in zip(starts, sizes, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", action="append", default=[], choices=CORES)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    for core in options.core or CORES:
        print(f"{core}:")
        until = time.time() + 60 * options.minutes
        run = partial(verdict, until=until, target=core, settings=Settings(), figures=_figures)
        print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
