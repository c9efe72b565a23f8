"""Programs run as they say: on the virtual SoC of every cluster each core comes to its groups of transfers, calls,
submissions, waits for jobs and barriers in the order that the program unrolls to."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.planner.networks import NETWORKS
from tests.targets.ita.transformers import Net, encoder_model
from tilewright.codegen.agent_functions import LOOP
from tilewright.planner.program.program import CORES, DMA
from tilewright.planner.schedule.events import Begin, Call, Event, Transfer, WaitJob, core
from tilewright.planner.schedule.unroll import unroll
from tilewright.program import compile_model
from tilewright.run.simulated import run_to_end
from tilewright.run.soc import SocProgram
from tilewright.sim.program.elf import Elf, bytes_between
from tilewright.sim.watching.calls import return_addresses
from tilewright.target.agents import BY_ALL_CORES
from tilewright.target.settings import Settings

FUNCTION = re.compile(r"layer_(\d+)_(load|renew|store|run|gather|finish)")
AGENT = re.compile(r"(layer_\d+|behind_layers)_(dma_core|workers)")
BEGIN, PREFETCH, ASK, JOB, BARRIER = "begin", "prefetch", "ask", "job", "barrier"
START, RETURN, MOVES = "start", "return", ("load", "renew", "store")
NAMED = {"tw_dma_begin": BEGIN, "tw_prefetch_begin": PREFETCH, "tw_request": ASK, "tw_npu_wait": JOB}
MEETING = {0x23C00000 | 6 << 12 | 0x03: 0xFFF0707F, 0x7C200000 | 2 << 12 | 0x73: 0xFFFFF07F}
"""The instructions that wait at a barrier of all agents -> the bits that tell them: MCHAN clusters' and Snitch's."""


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
}  # fmt: skip


# ---- what the simulator saw -----------------------------------------------------------------------------------------


def places(elf: Elf) -> dict[int, str]:
    """By address, what a core does there."""
    own = [name for name in elf.symbols if AGENT.fullmatch(name) or LOOP.fullmatch(name)]
    found = {at: RETURN for name in (*own, "tw_submit_meanwhile") for at in return_addresses(elf, name)}
    found |= {elf.symbols[name]: what for name, what in NAMED.items() if name in elf.symbols}
    for name, address in elf.symbols.items():
        if function := FUNCTION.fullmatch(name):
            found[address] = f"{function[2]} {function[1]}"
    return found | dict.fromkeys(meetings(elf), BARRIER)


def meetings(elf: Elf) -> Iterator[int]:
    """Where cores wait for all others: an instruction, or a function that the network has a copy of."""
    functions = sorted(elf.functions)
    for position, (start, name) in enumerate(functions):
        around = [one for _, one in functions[max(position - 1, 0) : position + 2]]
        if name == "tw_meet" and any(FUNCTION.fullmatch(one) or AGENT.fullmatch(one) for one in around):
            yield start
        end = functions[position + 1][0] if position + 1 < len(functions) else start
        code = bytes_between(elf, start, end)
        for at in range(0, len(code) - 3, 2):
            word = int.from_bytes(code[at : at + 4], "little")
            if any(word & mask == wanted for wanted, mask in MEETING.items()):
                yield start + at


def lanes(program: SocProgram, path: object) -> dict[int, list[str]]:
    """By core, where it came from the first layer on."""
    found: dict[int, list[str]] = defaultdict(list)
    with program.target.simulator() as simulator:
        elf = simulator.load(path)  # type: ignore[arg-type]
        known = places(elf) | {elf.symbols["all_layers"]: START}
        watched = {*range(program.writer.tiles.cores), program.target.agents.dma_core}
        simulator.probe(known, cores=watched)
        run_to_end(simulator)
        for event in simulator.probes():
            if found[event.core] or known[event.address] == START:
                found[event.core].append(known[event.address])
    return found


def seen(words: list[str], drives: bool, asked: set[str]) -> Iterator[str]:
    """`drives`: what the core runs are submissions, which are over when they return. `asked`: layers whose transfers
    are started for others."""
    submitted, fetches = "", False
    for position, word in enumerate(words):
        what, _, layer = word.partition(" ")
        if what == RETURN:
            yield from [f"submit {submitted}"] * bool(submitted)
            submitted = ""
        elif what == "run" and drives:
            submitted = layer
        elif what == PREFETCH:
            yield BEGIN
        elif what == BEGIN and not fetches:
            moved = starts(words[position + 1 :])
            yield from [" ".join([BEGIN, *moved])] * (not asked & {one.split()[1] for one in moved})
        elif what not in (START, BEGIN, *MOVES):
            yield word
        fetches = what == PREFETCH


def starts(words: list[str]) -> list[str]:
    """What a group that has just begun moves."""
    called = itertools.takewhile(lambda word: word.split()[0] in (RETURN, *MOVES), words)
    return [word for word in called if word != RETURN]


# ---- what the program says ------------------------------------------------------------------------------------------


def said(program: SocProgram, number: int) -> Iterator[str]:
    """Of a core; it does what its agents do."""
    schedule, agents = program.writer.schedule, program.target.agents
    own = {DMA} if agents.moves_apart and number == agents.dma_core else {CORES, core(number)}
    for epoch, events in enumerate(unroll(program.writer.tiles, schedule.graph, schedule.target.paths)):
        yield from [BARRIER] * (epoch > 0)
        mine = [event for event in events if event.agent in own]
        for event in mine:
            if isinstance(event, Begin):
                copies = agents.transfers == BY_ALL_CORES and event.agent != CORES
                yield from [] if copies else [ASK] if event.asks else [started(event, mine)]
            elif isinstance(event, Call):
                yield f"{event.kind} {event.layer}"
            elif isinstance(event, WaitJob):
                yield JOB


def started(begun: Begin, events: list[Event]) -> str:
    """A group, with its first transfer, if any is due."""
    moved = (event for event in events if isinstance(event, Transfer) and event.group == begun.group)
    first = next(moved, None)
    return BEGIN if first is None else f"{BEGIN} {first.kind} {first.layer}"


# ---- both -----------------------------------------------------------------------------------------------------------


def is_same(found: str, wanted: str) -> bool:
    """Functions start groups of which nothing may be due; what is prefetched has no function that is seen."""
    if found.startswith(BEGIN) and wanted.startswith(BEGIN):
        return BEGIN in (found, wanted) or wanted.removeprefix(BEGIN) in found.replace("renew", "load")
    return found == wanted


def epochs(words: Iterable[str]) -> list[list[str]]:
    """Sorted, without waits for jobs: what may happen sooner or later while jobs are given does so between barriers."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == BARRIER:
            found.append([])
        elif word != JOB:
            found[-1].append(word.split()[0] if word.startswith(BEGIN) else word)
    return [sorted(one) for one in found]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", CASES)
def test_cores_do_what_the_program_says(case: str) -> None:
    target, model, settings = CASES[case]
    compiled = compile_model(model(), target=target, settings=settings)
    program = compiled.build_soc()
    assert isinstance(program, SocProgram)
    layers, agents = program.writer.tiles.layers, program.target.agents
    asked = {str(layer.number) for layer in layers if layer.is_per_core}
    found = lanes(program, program.build(compiled.random_inputs()))
    assert len(found) == program.writer.tiles.cores + agents.moves_apart
    for number, words in found.items():
        drives = agents.moves_apart and number == agents.dma_core
        did, wanted = list(seen(words, drives, asked if drives else set())), list(said(program, number))
        if drives and any(layer.is_queued for layer in layers):
            assert epochs(did)[: len(epochs(wanted)) - 1] == epochs(wanted)[:-1], number
            continue
        # The last barrier is the runtime's.
        while wanted and wanted[-1] == BARRIER:
            wanted.pop()
        for position, (one, other) in enumerate(zip(did, wanted, strict=False)):
            assert is_same(one, other), (number, position, did[position - 3 : position + 3], wanted[position - 3 :][:6])
        assert len(did) >= len(wanted)
        assert set(did[len(wanted) :]) <= {BARRIER}
