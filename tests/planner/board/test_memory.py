"""Where a network lies on a board: the first memory that holds all, several where none does, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.passes.small import feeds_of
from tests.planner.refit.test_strips import mobile
from tilewright import pipeline, targets
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.pipeline import Compiled
from tilewright.planner.board.advice import Needs, advice
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.program import Program
from tilewright.target.memory import CONSTANTS, STACK, holding
from tilewright.target.settings import Settings

BOARD = """\
cpu = "cortex-m4"
clock_mhz = 80
[[memory]]
name = "flash"
base = 0x0800_0000
kib = 1024
holds = ["code", "constants"]
[[memory]]
name = "FAST"
base = 0x1000_0000
kib = {fast}
holds = ["arena"]
[[memory]]
name = "SRAM"
base = 0x2000_0000
kib = {sram}
holds = ["arena", "stack"]
[[memory]]
name = "MORE"
base = 0x3000_0000
kib = 64
holds = ["{more}", "stack"]
"""


def board(folder: Path, fast: int, sram: int, more: str = "code") -> str:
    (folder / "mine.toml").write_text(BOARD.format(fast=fast, sram=sram, more=more))
    return str(folder / "mine.toml")


def planned(name: str, graph: Graph | None = None) -> Schedule:
    found: Schedule = pipeline.stage(graph or mobile(), name, "schedule")
    return found


def test_one_memory_where_it_holds_all(tmp_path: Path) -> None:
    assert list(planned(board(tmp_path, 16, 64)).arenas) == ["SRAM"]
    assert list(planned(board(tmp_path, 16, 20, "arena")).arenas) == ["MORE"]


def test_several_where_none_does(tmp_path: Path) -> None:
    graph = mobile()
    schedule = planned(board(tmp_path, 12, 24), graph)
    assert list(schedule.arenas) == ["SRAM", "FAST"]
    assert sum(schedule.arenas.values()) == schedule.arena_bytes
    assert len(schedule.layers) == len(graph.nodes)
    feeds = feeds_of(graph)
    (made,) = (interpret(schedule, feeds)[name] for name in schedule.graph.outputs)
    np.testing.assert_array_equal(made, evaluate(graph, feeds)[graph.outputs[0]])


@pytest.mark.in_turns(3)
def test_strips_where_several_are_too_small(tmp_path: Path) -> None:
    schedule = planned(board(tmp_path, 4, 24))
    assert len(schedule.layers) > len(mobile().nodes)


@pytest.mark.in_turns(5)
def test_what_does_not_fit_says_where_and_what_helps(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        planned(board(tmp_path, 4, 12))
    assert caught.value.where == "SRAM of 12288 bytes"
    tried = "are missing, and they do not fit with FAST either; --optimise ram needs as much"
    assert f"{tried}\n  the arena's peak is at node " in caught.value.what
    assert "--board " in caught.value.hint


@pytest.mark.in_turns(5)
def test_boards_that_are_named_fit_in_both_memories() -> None:
    target, much = targets.find("nrf52840dk"), 700 * 1024
    ram, flash = target.memories[0], holding(target.memories, CONSTANTS)[0]
    for memory, needs in ((ram, Needs(much, 4096)), (flash, Needs(much, 1 << 20))):
        hint = advice(target, mobile(), memory, needs, Settings())
        assert "nucleo-u575zi" in hint
        assert "nucleo-l4r5zi" not in hint
    assert "no known board" in advice(target, mobile(), flash, Needs(1 << 24, 4096), Settings())


def test_boards_that_are_named_have_the_accelerators() -> None:
    target = targets.find_board("himax-we2")
    ram = holding(target.memories, STACK)[0]
    said = advice(target, mobile(), ram, Needs(1 << 17, 4096), Settings(memories=(("ram", 1 << 16),)))
    assert "--optimise ram" in said
    assert "--board imx93-m33" in said
    assert "nrf" not in said


@pytest.mark.in_turns(3)
def test_a_program_with_two_arenas_runs(tmp_path: Path) -> None:
    program = Program(Compiled(*pipeline.stages(mobile(), board(tmp_path, 12, 24))), "", None, 0.0)
    assert program.check().agrees
    assert [one.memory for one in program.memory_maps] == ["SRAM", "flash", "FAST"]
