"""One ELF, both simulators: no program has what the chip's public one does not take, unless it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from onnx import ModelProto

import tilewright as tw
from tests.planner.cluster import test_l3_tiles as l3_tiles
from tests.planner.networks import NETWORKS
from tests.planner.simulating import L1_BYTES, L1_START, program_of
from tests.support.example_networks import keyword_spotting
from tilewright.errors import CompileError
from tilewright.program import Program
from tilewright.sim.program.elf import Elf, loaded_ranges, sections
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings

LIMIT = 100_000_000


CASES: dict[str, tuple[Callable[[], ModelProto], Settings]] = {
    "NPU": (keyword_spotting, Settings(time_limit=1.0)),
    "cluster only": (keyword_spotting, Settings(engines=("cluster",), time_limit=1.0)),
    "one core": (keyword_spotting, Settings(1, engines=("cluster",), time_limit=1.0)),
    "weights streamed": (keyword_spotting, Settings(weight_memory=False, time_limit=1.0)),
    "constants in L3": (keyword_spotting, Settings(home="L3", time_limit=1.0)),
    "constants in L3, cluster only": (keyword_spotting, Settings(home="L3", engines=("cluster",), time_limit=1.0)),
    "small L1": (keyword_spotting, Settings(l1=16_000, time_limit=1.0)),
    "stacks elsewhere": (keyword_spotting, Settings(l1=6_000, engines=("cluster",), time_limit=1.0)),
    "tiles per core": (NETWORKS["wide_integers"], Settings(l1=3_000, time_limit=1.0)),
}
IN_L3 = {"activations in L3": "floats", "activations in L3, NPU": "quantised, with an NPU"}
"""Cases of others."""


@cache
def compiled(case: str, code_in_l1: bool = False) -> Program:
    if case in IN_L3:
        return l3_tiles.compiled(IN_L3[case])
    network, settings = CASES[case]
    return tw.compile(network(), target="siracusa", settings=replace(settings, code_in_l1=code_in_l1))


@cache
def built(case: str, code_in_l1: bool = False) -> Elf:
    program = compiled(case, code_in_l1)
    return program_of(program, program.random_inputs())


def run(elf: Elf, misuse: bool) -> str:
    with Simulator("siracusa") as simulator:
        simulator.check(misuse=misuse)
        simulator.load(elf)
        report = simulator.run(LIMIT)
    assert report.exit_code == 0
    return report.stdout


def touches_l1(start: int, end: int) -> bool:
    return start < L1_START + L1_BYTES and max(end, start + 1) > L1_START


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("case", [*CASES, *IN_L3])
def test_programs_do_nothing_that_the_other_simulator_does_not_take(case: str) -> None:
    elf = built(case)
    assert run(elf, misuse=True) == run(elf, misuse=False), "the same output in the same cycles"


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("case", [*CASES, *IN_L3])
def test_no_program_header_covers_l1(case: str) -> None:
    """Whatever a program has there: variables, stacks and buffers do."""
    elf = built(case)
    assert any(L1_START <= address < L1_START + L1_BYTES for address in elf.symbols.values())
    assert loaded_ranges(elf)
    assert not [found for found in loaded_ranges(elf) if touches_l1(*found)]
    assert all(len(segment.data) == segment.size for segment in elf.segments), "headers are for what the file fills"


@pytest.mark.parametrize("case", ["NPU", "cluster only"])
def test_no_code_lies_in_l1(case: str) -> None:
    elf = built(case)
    assert not [name for address, name in elf.functions if touches_l1(address, address + 1)]
    assert ".l1_code" not in sections(elf.data)
    assert "tw_l1_code" not in elf.symbols


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("case", ["NPU", "cluster only"])
def test_code_in_l1_is_asked_for(case: str) -> None:
    """It is faster here, loads like all else, and cores there are what the other simulator does not take."""
    elf = built(case, code_in_l1=True)
    assert [name for address, name in elf.functions if touches_l1(address, address + 1)]
    assert not [found for found in loaded_ranges(elf) if touches_l1(*found)]
    assert cycles(run(elf, misuse=False)) < cycles(run(built(case), misuse=False))
    with pytest.raises(CompileError) as caught:
        run(elf, misuse=True)
    assert caught.value.what.startswith("runs code in L1, as another core has")
    assert "--code-in-l1" in str(caught.value.hint)


def cycles(printed: str) -> int:
    return int(printed.split()[1])


@pytest.mark.in_turns(5)
def test_cold_code_costs_what_was_measured_unless_it_is_in_l1() -> None:
    plain, faster = compiled("cluster only").plan, compiled("cluster only", code_in_l1=True).plan
    costs = plain.mapped.target.costs
    for plan, part in ((plain, 1.0), (faster, costs.l1_code)):
        for step in plan.steps:
            assert step.option.cold_cycles == pytest.approx(part * costs.cold[step.option.kernel.stem])
    assert faster.predicted < plain.predicted
