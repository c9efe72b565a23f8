"""How fast the simulator is: instructions per second of processor time, with all timing on, best of several runs.

    python benchmarks/sim_speed.py [--runs 7]

Builds sim_speed_matmul.c with zig for eight cores and for one.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for cores in (1, 8):
            show(cores, build(Path(folder), cores), arguments.runs)
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
