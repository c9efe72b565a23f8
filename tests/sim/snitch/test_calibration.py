"""The calibration programs of the Snitch cluster: values exact, cycles near those of the reference.

They are found through $TILEWRIGHT_CALIBRATION_SNITCH or in ../shared/calibration_snitch beside the checkout.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from tests.sim.test_calibration import values
from tilewright.sim.simulator import Simulator

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "calibration_snitch"
FOLDER = Path(os.environ.get("TILEWRIGHT_CALIBRATION_SNITCH", BESIDE))
NEAR = 0.05
MAX_CYCLES = 10_000_000
DEVIATIONS = {
    "s02_fpu": ("fmadd_d_2chain_16", "fld_fadd_use_8", "fadd_fsd_8", "queue_only_20"),
    "s03_frep": ("o_2x32", "o_3x32", "stag2_1x32"),
    "s04_ssr": ("dot_ssr_64", "dot_ssr_256"),
    "s06_banks": ("stream_fixed_same.",),
    "s08_dma1d": ("dd_4096",),
    "s12_k_matmul_f32": ("scalar", "scalar."),
    "s14_k_dma_double": ("seq.", "dbl."),
    "s17_dma_contend": ("stream_fixed.",),
}
"""What docs/snitch.md explains: names, or how they begin."""

# One skip for all of them.
if not (FOLDER / "expected.csv").is_file():
    pytest.skip(f"no calibration programs in {FOLDER}: set TILEWRIGHT_CALIBRATION_SNITCH", allow_module_level=True)


def expected() -> dict[str, list[dict[str, str]]]:
    programs: dict[str, list[dict[str, str]]] = {}
    with (FOLDER / "expected.csv").open() as file:
        for row in csv.DictReader(file):
            programs.setdefault(row["program"], []).append(row)
    return programs


EXPECTED = expected()


def run(program: str, **checks: bool) -> dict[str, str]:
    with Simulator("snitch") as simulator:
        simulator.check(**checks)
        simulator.load(FOLDER / f"{program}.elf")
        report = simulator.run(MAX_CYCLES)
    assert report.exit_code == 0
    return values(report.stdout)


def is_explained(program: str, name: str) -> bool:
    return any(name == known or (known[-1] == "." and name.startswith(known)) for known in DEVIATIONS.get(program, ()))


@pytest.mark.parametrize("program", EXPECTED)
def test_program(program: str) -> None:
    found = run(program)
    wrong = []
    for row in EXPECTED[program]:
        got, wanted = found.get(row["name"], "nothing"), row["gvsoc_value"]
        if row["kind"] == "value" or not got.isdigit():
            if got != wanted:
                wrong.append(f"{row['name']}: {got}, not {wanted}")
        elif abs(int(got) - int(wanted)) > NEAR * abs(int(wanted)) and not is_explained(program, row["name"]):
            wrong.append(f"{row['name']}: {got} cycles, not {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("program", ["s05_f32ssr", "s11_simd", "s13_k_matmul_f64", "s14_k_dma_double"])
def test_what_runs_on_the_reference_is_no_misuse(program: str) -> None:
    assert run(program, misuse=True, transfers=True, protected=True) == run(program)
