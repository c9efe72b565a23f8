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
from benchmarks.rv32_networks import DTYPES, FLOAT_ENDS, INT8
from benchmarks.verdicts import print_verdicts
from tests.support.networks import label, models, named_or, stored

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.program import Program
from tilewright.sim.elf import MACHINE_ARM, read_elf

CORES = ("cortex-m4", "cortex-m33", "cortex-m7", "cortex-m0plus")
USUAL = [*(path for name in INT8 for path in models(f"mlperf_tiny/{name}.tflite")), *models("qdq/*/*.onnx")]
FLASH_START = 0x0800_0000


def verdict(path: Path, until: float, core: str) -> str:
    """`agrees` and what it took, `refused`, `not run` or what is wrong."""
    if time.time() > until:
        return "not run"
    try:
        return _ran(path, core)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}"


def _ran(path: Path, core: str) -> str:
    inputs, outputs = (None, None) if path.suffix == ".tflite" else stored(path)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if label(path).startswith(("qdq/", "mlperf_tiny/")) else outputs
    program = tw.compile(path, target=core, example_inputs=inputs, dtypes=DTYPES.get(label(path), {}))
    check = program.check(inputs, expected)
    if check.first_difference is not None:
        return f"differs: {check.first_difference}"
    return f"agrees: {_figures(program, check.result.instructions or 0, check.result.cycles or 0)}"


def _figures(program: Program, instructions: int, cycles: int) -> str:
    found = program.profile().profile
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
    word = lambda at, size=4: int.from_bytes(data[at : at + size], "little")  # noqa: E731
    headers = [word(32) + number * word(46, 2) for number in range(word(48, 2))]
    names = word(headers[word(50, 2)] + 16)
    start = [names + word(header) for header in headers]
    return {data[at : data.index(0, at)].decode(): word(header + 20) for at, header in zip(start, headers, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", action="append", default=[], choices=CORES)
    parser.add_argument("--minutes", type=float, default=60.0, help="no network is begun after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    for core in options.core or CORES:
        print(f"{core}:")
        run = partial(verdict, until=time.time() + 60 * options.minutes, core=core)
        print_verdicts(named_or(options.models, USUAL), run, options.jobs)


if __name__ == "__main__":
    main()
