"""Programs run as they say: on the virtual SoC of every cluster each core comes to its transfers, calls, submissions,
barriers and waits in the order that the program unrolls to, with the bytes that it says; one event elsewhere is
found."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from tests.planner.check.corrupting_tiles import Places, corrupted
from tests.planner.networks import NETWORKS
from tests.run.order_compared import Comparison, queued_difference
from tests.run.order_said import SaidSteps
from tests.run.order_seen import Seen, seen
from tests.targets.ita.transformers import Net, encoder_model
from tilewright.errors import InternalError
from tilewright.planner.program import program
from tilewright.planner.schedule.events import AwaitGroup, AwaitJob, Begin, TileCall, TileEvent, Transfer
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.program import compile_model
from tilewright.run.soc import SocProgram
from tilewright.target.agents import BY_ALL_CORES
from tilewright.target.settings import Settings


def product() -> object:
    """Tiles of ITA, with rows that have a single buffer."""
    net = Net((1, 128, 256))
    return net.model(net.linear(net.x, "y", 256, 192))


CASES: dict[str, tuple[str, Callable[[], object], Settings]] = {
    "siracusa": ("siracusa", NETWORKS["residual"], Settings(l1=8_000, time_limit=1.0)),
    "siracusa, N-EUREKA": ("siracusa", NETWORKS["gates"], Settings(l1=16_000, buffering="double", time_limit=1.0)),
    "siracusa, in flight": ("siracusa", NETWORKS["gates"], Settings(time_limit=1.0)),
    "quad": ("quad", NETWORKS["residual"], Settings(l1=16_000, time_limit=1.0)),
    "quad, single": ("quad", NETWORKS["residual"], Settings(l1=16_000, buffering="single", time_limit=1.0)),
    "snitch": ("snitch", NETWORKS["residual"], Settings(l1=12_000, time_limit=1.0)),
    "snitch, ITA": ("snitch", product, Settings(engines=("all",), numerics="hardware", l1=70_000, time_limit=1.0)),
    "snitch, ITA in flight": (
        "snitch", lambda: encoder_model(64, 128, 2, 64, 192),
        Settings(engines=("all",), numerics="hardware", time_limit=1.0),
    ),
    "minpool": ("minpool", NETWORKS["residual"], Settings(l1=12_000, time_limit=1.0)),
    "minpool, double": ("minpool", NETWORKS["cached"], Settings(l1=12_000, buffering="double", time_limit=1.0)),
    "mempool": ("mempool", NETWORKS["residual"], Settings(l1=60_000, time_limit=1.0)),
    "itapool": ("itapool", product, Settings(engines=("all",), numerics="hardware", time_limit=1.0)),
}  # fmt: skip

FIELDS = tuple(f"{name}." for name in vars(program) if name[0].isupper() and name[1:2].islower())
FAULTS = 40
"""For each case."""
C_FAULTS = {
    "a barrier less": ("siracusa", "  layer_6_run(0, 0);\n  tw_barrier_all();", "  layer_6_run(0, 0);"),
    "a wait behind a barrier": (
        "snitch", "  tw_wait_prefetch(4);\n  tw_barrier_all();", "  tw_barrier_all();\n  tw_wait_prefetch(4);",
    ),
    "another tile": ("siracusa, N-EUREKA", "    run(tile + 1, tile + 1);", "    run(tile, tile);"),
    "another tile is moved": ("quad", "tw_begin(layer_1_load, core, 0)", "tw_begin(layer_1_load, 0, 0)"),
    "two events in turn": (
        "siracusa, N-EUREKA",
        "    storing = tw_begin(store, tile, tile);\n  }\n  tw_accelerator_wait(job[tw_odd(tiles - 1)]);",
        "  }\n  tw_accelerator_wait(job[tw_odd(tiles - 1)]);\n  storing = tw_begin(store, tiles - 2, tiles - 2);",
    ),
    "computed before it is there": (
        "minpool", "    load(tile, turn);\n    run(tile, turn);", "    run(tile, turn);\n    load(tile, turn);",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    program: SocProgram
    steps: dict[int, list[Seen]]

    def difference(self, tiles: Schedule) -> str:
        """Between what was seen of this program and what these trees say."""
        program, agents = self.program, self.program.target.agents
        compared = Comparison(program.target.paths.tiles.name)
        epochs = unroll(tiles)
        for number, found in self.steps.items():
            wanted = SaidSteps(program.target, number).of(epochs)
            if agents.moves_apart and number == agents.dma_core and any(layer.is_queued for layer in tiles.layers):
                one = queued_difference(compared, found, wanted)
            else:
                one = compared.difference(found, wanted)
            if one:
                return f"core {number}, {one}"
        return ""


@cache
def recorded(case: str, old: str = "", new: str = "") -> Recorded:
    """Where `old` is given, with `new` in the C instead."""
    target, model, settings = CASES[case]
    compiled = compile_model(model(), target=target, settings=settings)
    program = compiled.build_soc()
    assert isinstance(program, SocProgram)
    network = program.folder / "network.c"
    text = network.read_text()
    assert old in text
    network.write_text(text.replace(old, new, 1) if old else text)
    steps = seen(program, program.build(compiled.random_inputs()))
    assert len(steps) == program.writer.schedule.cores + program.target.agents.moves_apart
    return Recorded(program, steps)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("case", CASES)
def test_cores_do_what_the_program_says(case: str) -> None:
    run = recorded(case)
    assert run.difference(run.program.writer.schedule) == ""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("case", CASES)
def test_another_event_is_found(case: str) -> None:
    """What was seen is not what a tree says in which one thing is another: every one that makes a difference."""
    run, rng = recorded(case), random.Random(case)
    places, wanted, found = Places.of(run.program.writer.schedule), meaning(run, run.program.writer.schedule), 0
    while found < FAULTS:
        broken = corrupted(places, rng, FIELDS)
        if broken is None or (means := meaning(run, broken[0])) is None or means == wanted:
            continue
        assert run.difference(broken[0]), f"not found: {broken[1]}"
        found += 1


def meaning(run: Recorded, tiles: Schedule) -> list[list[tuple[object, ...]]] | None:
    """What can be seen of a tree: bytes, not of which tile they are; no copies of nothing; no waits for jobs that may
    happen sooner. None where it means nothing at all."""
    program, is_queued = run.program, any(layer.is_queued for layer in tiles.layers)
    try:
        epochs = unroll(tiles)
    except (InternalError, LookupError, ValueError):
        return None
    copies = program.target.agents.transfers == BY_ALL_CORES
    events = [event for epoch in epochs for event in epoch]
    begun = [event.group for event in events if isinstance(event, Transfer if copies else Begin)]
    groups = {group: order for order, group in enumerate(dict.fromkeys(begun))}
    return [[step for event in epoch if (step := in_bytes(event, groups, is_queued))] for epoch in epochs]


def in_bytes(event: TileEvent, groups: Mapping[int, int], is_queued: bool) -> tuple[object, ...]:
    if isinstance(event, Transfer):
        touched = [(region.memory, region.start) for region in (event.source, event.target)]
        return event.agent, groups[event.group], *touched
    if isinstance(event, TileCall):
        touched = [(region.memory, region.start) for region in (*event.reads, *event.writes)]
        return event.agent, event.kind, event.layer, *touched
    if isinstance(event, Begin | AwaitGroup):
        return (type(event), event.agent, groups[event.group]) if event.group in groups else ()
    return () if is_queued and isinstance(event, AwaitJob) else (event,)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("what", C_FAULTS)
def test_other_c_is_found(what: str) -> None:
    run = recorded(*C_FAULTS[what])
    assert run.difference(run.program.writer.schedule)
