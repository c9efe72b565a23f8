"""What each stage prints for a small network, and the C, as text. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.models import residual
from tilewright import pipeline
from tilewright.planner.schedule.listing import listing

pytestmark = pytest.mark.fast

FOLDER = Path(__file__).parent


def stages() -> dict[str, str]:
    made = pipeline.compile_graph(pipeline.import_model(residual()), "generic", "residual")
    return {
        "graph.txt": str(made.graph),
        "lowered.txt": str(made.lowered),
        "mapped.txt": str(made.mapped),
        "tiled.txt": str(made.allocation),
        "schedule.txt": listing(made.schedule),
        "network.c": made.files["network.c"],
        "network.h": made.files["network.h"],
        "kernels.h": made.files["kernels/kernels.h"],
    }


@pytest.mark.asks_c
@pytest.mark.parametrize(
    "name",
    ["graph.txt", "lowered.txt", "mapped.txt", "tiled.txt", "schedule.txt", "network.c", "network.h", "kernels.h"],
)
def test_stage_text(name: str) -> None:
    compare(stages()[name], FOLDER / "residual" / name)


def compare(made: str, path: Path) -> None:
    text = made.rstrip("\n") + "\n"
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} changed; if that is meant, run with TILEWRIGHT_UPDATE_GOLDEN=1"
