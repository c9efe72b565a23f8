"""The calibration programs: values exact, cycles near those of the reference.

They are found through $TILEWRIGHT_CALIBRATION or in ../shared/calibration beside the checkout.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from tilewright.sim.simulator import Simulator

FOLDER = Path(os.environ.get("TILEWRIGHT_CALIBRATION", Path(__file__).resolve().parents[3] / "shared" / "calibration"))
NEAR_CYCLES, FAR_RATIO = 4, 0.15
MAX_CYCLES = 1_000_000_000

# One skip for all of them.
if not (FOLDER / "expected.csv").is_file():
    pytest.skip(f"no calibration programs in {FOLDER}: set TILEWRIGHT_CALIBRATION", allow_module_level=True)


def expected() -> dict[str, list[dict[str, str]]]:
    programs: dict[str, list[dict[str, str]]] = {}
    with (FOLDER / "expected.csv").open() as file:
        for row in csv.DictReader(file):
            programs.setdefault(row["program"], []).append(row)
    return programs


EXPECTED = expected()


def values(text: str) -> dict[str, str]:
    seen: Counter[str] = Counter()
    found = {}
    for words in map(str.split, text.splitlines()):
        if len(words) == 2:
            seen[words[0]] += 1
            found[words[0] if seen[words[0]] == 1 else f"{words[0]}@{seen[words[0]]}"] = words[1]
    return found


def run(program: str) -> dict[str, str]:
    with Simulator("siracusa") as simulator:
        simulator.load(FOLDER / f"{program}.elf")
        report = simulator.run(MAX_CYCLES)
    assert report.exit_code == 0
    return values(report.stdout)


@pytest.mark.parametrize("program", EXPECTED)
def test_program(program: str) -> None:
    found = run(program)
    wrong = []
    for row in EXPECTED[program]:
        got, wanted = found.get(row["name"], "nothing"), row["gvsoc_value"]
        if got == wanted:
            continue
        if row["kind"] == "value" or not got.isdigit():
            wrong.append(f"{row['name']}: {got}, not {wanted}")
            continue
        error = abs(int(got) - int(wanted))
        if error > NEAR_CYCLES and error > FAR_RATIO * abs(int(wanted)):
            wrong.append(f"{row['name']}: {got} cycles, not {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("program", [name for name in EXPECTED if name != "c03_mem_levels"])
def test_the_reference_takes_them(program: str) -> None:
    """What runs there is no misuse here; but one of them writes to N-EUREKA just to see how long that takes."""
    with Simulator("siracusa") as simulator:
        simulator.check(misuse=True)
        simulator.load(FOLDER / f"{program}.elf")
        assert simulator.run(MAX_CYCLES).exit_code == 0


def test_same_program_same_cycles() -> None:
    assert run("c23_k_matmul") == run("c23_k_matmul")
