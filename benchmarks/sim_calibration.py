"""Runs the calibration programs and prints, line by line, how far the simulator is from the reference.

    python benchmarks/sim_calibration.py [folder] [--all]

The folder holds `expected.csv` and the programs; it defaults to $TILEWRIGHT_CALIBRATION or ../shared/calibration.
Without --all only lines that differ are shown.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.sim.simulator import Simulator

NEAR_CYCLES, NEAR_RATIO, FAR_RATIO = 4, 0.05, 0.15
MAX_CYCLES = 1_000_000_000


@dataclass(frozen=True)
class Line:
    program: str
    name: str
    kind: str
    expected: str
    got: str

    @property
    def is_cycles(self) -> bool:
        return self.kind == "cycles"

    @property
    def is_exact(self) -> bool:
        return self.expected == self.got

    @property
    def difference(self) -> int:
        return int(self.got or 0) - int(self.expected)

    @property
    def ratio(self) -> float:
        return self.difference / max(1, abs(int(self.expected)))

    def within(self, ratio: float) -> bool:
        return bool(self.got) and (abs(self.difference) <= NEAR_CYCLES or abs(self.ratio) <= ratio)


def default_folder() -> Path:
    here = Path(__file__).resolve().parents[1]
    return Path(os.environ.get("TILEWRIGHT_CALIBRATION", here.parent / "shared" / "calibration"))


def parse(text: str) -> dict[str, str]:
    """`name value` lines; a name printed again becomes name@2, name@3, ..."""
    seen: Counter[str] = Counter()
    values = {}
    for words in map(str.split, text.splitlines()):
        if len(words) != 2:
            continue
        seen[words[0]] += 1
        name = words[0] if seen[words[0]] == 1 else f"{words[0]}@{seen[words[0]]}"
        values[name] = words[1]
    return values


def run_program(path: Path) -> dict[str, str]:
    with Simulator("siracusa") as simulator:
        simulator.load(path)
        try:
            return parse(simulator.run(MAX_CYCLES).stdout)
        except CompileError as error:
            print(f"{path.stem}: {error}")
            return parse(simulator.stdout)


def compare(folder: Path) -> list[Line]:
    with (folder / "expected.csv").open() as file:
        rows = list(csv.DictReader(file))
    programs = dict.fromkeys(row["program"] for row in rows)
    got = {program: run_program(folder / f"{program}.elf") for program in programs}
    return [line_of(row, got[row["program"]].get(row["name"], "")) for row in rows]


def line_of(row: dict[str, str], got: str) -> Line:
    return Line(row["program"], row["name"], row["kind"], row["gvsoc_value"], got)


def show(lines: list[Line], everything: bool) -> None:
    print(f"{'program':22} {'line':32} {'reference':>12} {'simulated':>12} {'error':>8}")
    for line in lines:
        if line.is_exact and not everything:
            continue
        error = f"{100 * line.ratio:+.1f} %" if line.is_cycles and line.got else "" if line.is_exact else "WRONG"
        mark = "" if not line.is_cycles or line.within(NEAR_RATIO) else " *" if line.within(FAR_RATIO) else " ***"
        print(f"{line.program:22} {line.name:32} {line.expected:>12} {line.got:>12} {error:>8}{mark}")


def summary(lines: list[Line]) -> str:
    values = [line for line in lines if not line.is_cycles]
    cycles = [line for line in lines if line.is_cycles]
    near = sum(line.within(NEAR_RATIO) for line in cycles)
    far = sum(line.within(FAR_RATIO) for line in cycles)
    worst = max((line for line in cycles if not line.within(0)), key=lambda line: abs(line.ratio), default=None)
    text = [
        f"values exact: {sum(line.is_exact for line in values)} of {len(values)}",
        f"cycle lines exact: {sum(line.is_exact for line in cycles)} of {len(cycles)}",
        f"within 5 % or 4 cycles: {near} ({100 * near / max(1, len(cycles)):.1f} %)",
        f"within 15 % or 4 cycles: {far} ({100 * far / max(1, len(cycles)):.1f} %)",
    ]
    if worst:
        text.append(f"worst: {worst.program} {worst.name} {100 * worst.ratio:+.1f} %")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=default_folder())
    parser.add_argument("--all", action="store_true", help="show exact lines too")
    arguments = parser.parse_args()
    lines = compare(arguments.folder)
    show(lines, arguments.all)
    print(summary(lines))


if __name__ == "__main__":
    main()
