"""Which target: the fastest first, then those of unknown speed, then those that do not hold the network."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline, targets
from tilewright.analysis.costs import analysis_of
from tilewright.analysis.ranking import candidate_names, ranked
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.matmul import MatMul
from tilewright.planner import planners
from tilewright.target.settings import Settings


def product(rows: int) -> Graph:
    builder = Builder("product")
    x = builder.input("x", TensorType("int8", (rows, 16)))
    builder.output(builder.add(MatMul(), [x, builder.constant(np.ones((16, 16), np.int8))])[0])
    return builder.build()


def test_the_fastest_first() -> None:
    found = ranked(product(4), Settings(), ["generic", "nrf52840dk", "rv32", "nucleo-l4r5zi"])
    known = [one.milliseconds for one in found if one.milliseconds is not None]
    assert [one.name for one in found][-1] == "generic"
    assert known == sorted(known)
    assert len(known) == 3


def test_of_unknown_clocks_those_with_the_fewest_cycles_come_first() -> None:
    found = ranked(product(4), Settings(), ["generic", "quad", "snitch", "rv32"])
    cycles = [one.cycles for one in found[1:3]]
    assert [found[0].name, found[-1].name] == ["rv32", "generic"]
    assert all(one.milliseconds is None for one in found[1:])
    assert None not in cycles
    assert cycles == sorted(cycles)


@pytest.mark.in_turns(3)
def test_what_does_not_fit_comes_last_with_its_reason() -> None:
    found = ranked(product(30_000), Settings(), ["nrf52840dk", "generic"])
    assert [one.name for one in found] == ["generic", "nrf52840dk"]
    assert "bytes are needed" in found[-1].refusal
    assert found[0].as_dict() == {
        "name": "generic",
        "planned_ram_bytes": found[0].planned_ram_bytes,
        "constant_bytes": 256,
    }


def test_every_board_and_every_other_target_is_a_candidate() -> None:
    names = candidate_names()
    assert set(targets.board_names()) <= set(names)
    assert {"siracusa", "rv32", "generic", "cpu"} <= set(names)
    assert "cortex-m4" not in names


def test_the_figures_are_those_of_a_checked_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking writes no C: it needs nobody to follow a schedule's events."""
    checked = analysis_of(pipeline.stage(product(4), "snitch", "schedule"))
    monkeypatch.setattr(planners, "check_schedule", None)
    (found,) = ranked(product(4), Settings(), ["snitch"])
    expected = checked.predicted_cycles, checked.planned_ram_bytes, checked.constant_bytes
    assert (found.cycles, found.planned_ram_bytes, found.constant_bytes) == expected


def test_boards_whose_npu_has_to_be_asked_for_are_candidates_with_it() -> None:
    found = candidate_names()
    assert {"mps3-an547", "mps3-an547+u55-128", "alif-e7"} <= set(found)
    assert len(set(found)) == len(found)
