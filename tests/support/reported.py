"""Something to draw: a network whose names are hostile, and a study with points of all kinds."""

from __future__ import annotations

from functools import cache

import onnx

import tilewright as tw
from tests.support.models import residual
from tilewright.exploring.results import Results
from tilewright.exploring.row import Row
from tilewright.profiling.measuring import Profiled
from tilewright.program import Program
from tilewright.report.page.content import Page
from tilewright.report.page.program_page import program_page

ENDS_SCRIPT = "</script><script>window.harmed = 1</script>"
LOADS_IMAGE = '"><img src=x onerror="window.harmed = 2"> %{x} $title <b>bold</b>'


def hostile() -> onnx.ModelProto:
    """The network with two branches; its first layer and a tensor have names that would be markup."""
    model = residual()
    first, *_, last = model.graph.node
    first.name, last.name = ENDS_SCRIPT, LOADS_IMAGE
    return model


@cache
def profiled() -> tuple[Program, Profiled]:
    program = tw.compile(hostile(), target="quad")
    return program, program.profile()


@cache
def page() -> Page:
    return program_page(*profiled())


def study(name: str = "made_up") -> Results:
    """Two models on two targets, more L1 faster; one point refused, one without energy."""
    rows = [
        Row("kws", target, {"l1": l1, "engines": "cluster"}, "agrees", metrics=_metrics(cycles, l1))
        for target, cycles in (("quad", 9_000), ("siracusa", 3_000))
        for l1 in (1000, 2000, 4000)
    ]
    rows.append(Row(ENDS_SCRIPT, "quad", {"l1": 4000, "engines": LOADS_IMAGE}, "agrees", metrics={"cycles": 5e6}))
    rows.append(
        Row("kws", "quad", {"l1": 10, "engines": "cluster"}, "refused", f"needs 20 bytes: {ENDS_SCRIPT}", "more")
    )
    return Results(
        name, "made_up_study", ("l1", "engines"), ("cycles", "planned_ram_bytes"), tuple(rows), 9, 8, 2, 3.5, 0.9
    )


def _metrics(cycles: int, l1: int) -> dict[str, float]:
    return {
        "cycles": cycles * 1000 // l1 + cycles,
        "planned_ram_bytes": l1 + 7000,
        "energy_uj": cycles / 250,
        "macs": 70_000,
    }
