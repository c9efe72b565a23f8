"""How fast the simulator is: instructions per second of processor time, with all timing on, best of several runs.

    python benchmarks/sim_speed.py [--runs 7]

Builds sim_speed_matmul.c with zig for eight cores and for one, and assembles loops for the Snitch cluster: there
instructions that frep repeats are counted too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.sim_speed_snitch import LOOPS, snitch_program

from tilewright.sim.program.elf import Elf
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import find_cross_compiler

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "tests" / "sim" / "programs"
SNITCH_CYCLES = 200_000
FLAGS = ["-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c", "-O2", "-g0", "-fomit-frame-pointer", "-static"]


def build(folder: Path, cores: int) -> Path:
    program = folder / f"matmul{cores}.elf"
    sources = [str(PROGRAMS / "start.S"), str(HERE / "sim_speed_matmul.c")]
    script = ["-T", str(PROGRAMS / "link.ld")]
    find_cross_compiler().run([*FLAGS, f"-DCORES={cores}", *script, *sources, "-o", str(program)], folder)
    return program


def run(program: Path) -> tuple[float, Report]:
    with Simulator("siracusa") as simulator:
        simulator.load(program)
        began = time.process_time()
        report = simulator.run()
        return time.process_time() - began, report


def show(cores: int, program: Path, runs: int) -> None:
    seconds, report = min((run(program) for _ in range(runs)), key=lambda result: result[0])
    conflicts = sum(core.stalls["conflict"] for core in report.cores)
    mips = report.instructions / seconds / 1e6
    print(
        f"int8 matmul, {cores} core{'s' if cores > 1 else ' '}  {mips:7.1f} MIPS   "
        f"({report.instructions:,} instructions, {report.cycles:,} cycles, {conflicts:,} conflict stalls, "
        f"{seconds * 1e3:.0f} ms)"
    )


def run_snitch(program: Elf) -> tuple[float, int]:
    with Simulator("snitch") as simulator:
        simulator.load(program)
        began = time.process_time()
        simulator.run_until(cycle=SNITCH_CYCLES)
        return time.process_time() - began, simulator.activity().counts["instructions"]


def show_snitch(name: str, program: Elf, runs: int) -> None:
    seconds, instructions = min(run_snitch(program) for _ in range(runs))
    print(
        f"Snitch, 8 cores, {name:27s}  {instructions / seconds / 1e6:7.1f} MIPS   "
        f"({instructions:,} instructions, {SNITCH_CYCLES:,} cycles, {seconds * 1e3:.0f} ms)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for cores in (1, 8):
            show(cores, build(Path(folder), cores), arguments.runs)
    for name, loop in LOOPS.items():
        show_snitch(name, snitch_program(loop), arguments.runs)
    print(f"a start: {1000 * start_seconds():.1f} ms, with the library built before")


def start_seconds() -> float:
    """The fastest of some starts."""
    times = []
    for _ in range(6):
        began = time.perf_counter()
        Simulator("siracusa").close()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    main()
