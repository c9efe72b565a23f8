"""Runs random layers on the virtual ITA and compares every byte of its memory with a reference model in numpy.

    python -m benchmarks.ita_jobs [folder] [--layers 2000] [--seed 0] [--programs]

The folder holds `ita_reference.py`; it defaults to $TILEWRIGHT_ITA_REFERENCE or ../shared/calibration_ita.
With --programs it measures programs that use the driver instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from tests.sim.ita.layers import KINDS, random_case, run_case
from tests.sim.ita.reference import load_reference, reference_folder, reference_results
from tests.targets.ita.driver_programs import MACHINES, run_gemm, run_head

PEAK_CYCLES = 256
"""Of a job that does nothing but compute."""


@dataclass(frozen=True)
class Row:
    """One layer."""

    kind: str
    jobs: int
    is_model_right: bool
    is_device_right: bool
    cycles: int


def examine(seed: int, model: ModuleType) -> Row:
    case = random_case(seed)
    wanted = reference_results(model, case)
    is_model_right = all(np.array_equal(value, wanted[name]) for name, value in case.results.items())
    outcome = run_case(case)
    return Row(case.name, len(case.jobs), is_model_right, not outcome.wrong, outcome.busy)


def table(rows: list[Row]) -> Iterator[str]:
    yield f"{'layer':<18}{'layers':>8}{'jobs':>8}{'device = model':>16}{'model = reference':>19}{'utilisation':>13}"
    for kind in (*KINDS, "all"):
        chosen = [row for row in rows if kind in (row.kind, "all")]
        jobs, cycles = sum(row.jobs for row in chosen), sum(row.cycles for row in chosen)
        device, reference = sum(r.is_device_right for r in chosen), sum(r.is_model_right for r in chosen)
        used = f"{PEAK_CYCLES * jobs / max(1, cycles):.1%}"
        yield f"{kind:<18}{len(chosen):>8}{jobs:>8}{device:>16}{reference:>19}{used:>13}"


def programs() -> Iterator[str]:
    yield f"{'program':<54}{'jobs':>6}{'ITA at work':>13}{'cycles':>9}{'utilisation':>13}{'of its work':>13}"
    for machine in MACHINES:
        yield from _programs(machine)


def _programs(machine: str) -> Iterator[str]:
    for name, measured in (
        (f"{machine}: attention head S 128, E 128, P 64 in TCDM", run_head(128, 128, 64, machine)),
        (f"{machine}: product 512 x 512 x 512, from outside", run_gemm(8, 8, 8, machine)),
    ):
        of_work = measured.jobs * PEAK_CYCLES / measured.busy
        numbers = f"{measured.jobs:>6}{measured.busy:>13}{measured.cycles:>9}"
        yield f"{name:<54}{numbers}{measured.utilisation:>13.1%}{of_work:>13.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=reference_folder())
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", action="store_true")
    options = parser.parse_args()
    if options.programs:
        print("\n".join(programs()))
        return
    model = load_reference(options.folder)
    rows = [examine(seed, model) for seed in range(options.seed, options.seed + options.layers)]
    print("\n".join(table(rows)))
    if not all(row.is_device_right and row.is_model_right for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
