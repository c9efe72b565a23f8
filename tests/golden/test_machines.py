"""The C of one small network on each kind of machine, as text. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest` rewrites them."""

from __future__ import annotations

import pytest

from tests.golden.test_golden import FOLDER, compare
from tests.support.models import residual
from tilewright import pipeline
from tilewright.target.settings import Settings

MACHINES = {
    "cpu": Settings(cpu="x86-64-v3", threads=2),
    "cortex-m4": Settings(),
    "rv32": Settings(),
    "quad": Settings(l1=1600),
    "siracusa": Settings(l1=3000),
    "snitch": Settings(l1=4000),
    "minpool": Settings(),
}


@pytest.mark.parametrize("target", MACHINES)
def test_c(target: str) -> None:
    *_, files = pipeline.stages(pipeline.import_model(residual()), target, "residual", MACHINES[target])
    compare(files["network.c"], FOLDER / "machines" / f"{target}.c")
