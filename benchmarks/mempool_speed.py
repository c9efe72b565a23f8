"""How fast the virtual MemPool is: instructions of all cores per second of processor time, best of several runs.

python benchmarks/mempool_speed.py [--runs 5]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import find_cross_compiler

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "tests" / "sim" / "programs"
FLAGS = ["-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a", "-O2", "-g0", "-fomit-frame-pointer", "-static"]


def build(folder: Path) -> Path:
    program = folder / "matmul.elf"
    sources = [str(PROGRAMS / "mempool_start.S"), str(HERE / "mempool_speed.c")]
    options = ["-I", str(PROGRAMS), "-T", str(PROGRAMS / "mempool.ld")]
    find_cross_compiler().run([*FLAGS, *options, *sources, "-o", str(program)], folder)
    return program


def run(program: Path, platform: str) -> tuple[float, Report]:
    with Simulator(platform) as simulator:
        simulator.load(program)
        began = time.process_time()
        report = simulator.run()
        return time.process_time() - began, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        results = [run(program, "mempool") for _ in range(arguments.runs)]
    seconds, report = min(results, key=lambda result: result[0])
    print(
        f"int8 matmul, {len(report.cores)} cores  {report.instructions / seconds / 1e6:.1f} MIPS   "
        f"({report.instructions:,} instructions, {report.cycles:,} cycles, {seconds * 1e3:.0f} ms)"
    )
    stalls = {cause: sum(core.stalls[cause] for core in report.cores) for cause in report.cores[0].stalls}
    cycles = sum(core.cycles for core in report.cores)
    print("of the cores' cycles: " + ", ".join(f"{cause} {100 * n / cycles:.0f} %" for cause, n in stalls.items() if n))


if __name__ == "__main__":
    main()
