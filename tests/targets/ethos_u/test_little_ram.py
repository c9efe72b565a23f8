"""Networks that RAM does not hold as they are: their parts are planned for less RAM without being asked."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
from tests.support.example_networks import keyword_spotting
from tests.targets.ethos_u.test_cascades import TARGET, interrupted
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.planner.board.little_ram import NOTE, or_with_less_ram
from tilewright.planner.board.memory import RamTooSmall, board_memory
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import RAM, Settings

REASON = "pip install 'tilewright[ethos-u]'"


def planned(settings: Settings) -> Schedule:
    """Of a network with a layer of the core between those of the NPU."""
    made: Schedule = or_with_less_ram(
        TARGET,
        settings,
        lambda chosen, noted: pipeline.stage(noted(interrupted()), TARGET, "schedule", settings=chosen),
    )
    return made


def needed(settings: Settings) -> int:
    return board_memory(planned(settings))[0].needed


def test_strips_across_parts_where_ram_does_not_hold_layers() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    whole, strips = needed(Settings()), needed(Settings(optimise=RAM))
    assert strips < whole
    between = (whole + strips) // 2
    found = planned(Settings(memories=(("ram", between),)))
    assert board_memory(found)[0].needed <= between
    assert NOTE in found.graph.notes
    assert NOTE not in planned(Settings(memories=(("ram", whole),))).graph.notes
    with pytest.raises(RamTooSmall, match="--optimise ram needs as much"):
        planned(Settings(memories=(("ram", strips // 2),)))


def test_a_network_runs_in_little_ram() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    model = keyword_spotting()
    sizes = [
        tilewright.compile(model, target=TARGET, optimise=goal).analysis.memories["RAM"][0] for goal in ("cycles", RAM)
    ]
    assert sizes[1] < sizes[0]
    made = tilewright.compile(model, target=TARGET, memories=(("ram", sizes[1] + 64),))
    assert NOTE in made.analysis.notes
    assert tilewright.analyze(model, target=TARGET, memories=(("ram", sizes[1] + 64),)).notes == made.analysis.notes
    given = made.random_inputs()
    run, wanted = made.run(given), made.reference(given)
    assert all(np.array_equal(values, wanted[name]) for name, values in run.outputs.items())


def test_targets_without_an_accelerator_are_refused_at_once() -> None:
    tried: list[str] = []

    def refused(chosen: Settings, noted: object) -> Graph:
        tried.append(chosen.optimise)
        raise RamTooSmall("RAM", "is too small", "")

    for target in ("cortex-m4", ""):
        with pytest.raises(CompileError):
            or_with_less_ram(target, Settings(), refused)
    assert tried == ["cycles", "cycles"]
