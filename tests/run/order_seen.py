"""What each core does in a program, as the virtual SoC sees it: it comes to functions of its layers and the runtime."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.codegen.agent_functions import LOOP
from tilewright.errors import CompileError, InternalError
from tilewright.run.simulated import run_to_end
from tilewright.run.soc import SocProgram
from tilewright.sim.program.elf import Elf, bytes_between
from tilewright.sim.watching.calls import return_addresses

FUNCTION = re.compile(r"layer_(\d+)_(load|renew|store|run|gather|finish)")
AGENT = re.compile(r"(layer_\d+|behind_layers)_(dma_core|workers)")
CALLED = re.compile(r"^static [^\n]*layer_\d+_(?:run|gather|finish)\(int tile.*?\b(tw_\w+)\(\n(.*?);$", re.M | re.S)
"""The kernel that a layer's function calls, and what it is given."""
BEGIN, MOVE, WAIT, ASK, ASKED, JOB, BARRIER = "begin", "move", "wait", "ask", "wait for asked", "job", "barrier"
START, RETURN, KERNEL = "start", "return", "kernel"
MOVES, CALLS = ("load", "renew", "store"), ("run", "gather", "finish")
NAMED = {
    "tw_dma_begin": BEGIN, "tw_request": ASK, "tw_request_wait": ASKED, "tw_accelerator_wait": JOB, "tw_dma_wait": WAIT,
}  # fmt: skip
BEGINNERS = ("tw_prefetch_begin", "tw_submit_meanwhile", "begin")
"""Functions of the runtime that begin groups or submit."""
MEETING = {0x23C00000 | 6 << 12 | 0x03: 0xFFF0707F, 0x7C200000 | 2 << 12 | 0x73: 0xFFFFF07F}
"""The instructions that wait at a barrier of all agents -> the bits that tell them: MCHAN clusters' and Snitch's."""
NONE = {WAIT: 0xFFFF_FFFF, ASKED: 0}
"""What is waited for where there is no group."""


@dataclass(frozen=True)
class Seen:
    what: str
    layer: int = -1
    group: int = -1
    """Of those that the core has begun or asked for; the number that a job is known by."""
    addresses: tuple[int, ...] = ()
    """Of what is moved: target and source. Of a call: what its kernel is given."""
    tile: int = -1


@dataclass(frozen=True)
class Passed:
    place: str
    arguments: tuple[int, ...]

    @property
    def layer(self) -> int:
        return int(self.place.partition(" ")[2] or -1)

    @property
    def what(self) -> str:
        return self.place.partition(" ")[0]


END = Passed(RETURN, (NONE[WAIT],))


def seen(program: SocProgram, path: Path) -> dict[int, list[Seen]]:
    """By core, from the first layer on."""
    agents = program.target.agents
    asked = {layer.number for layer in program.writer.schedule.layers if layer.is_per_core}
    found = {}
    for number, lane in passed(program, path).items():
        drives = agents.moves_apart and number == agents.dma_core
        found[number] = list(Steps(drives, asked if drives else set()).of(lane))
    return found


def passed(program: SocProgram, path: Path) -> dict[int, list[Passed]]:
    """A program that does not end is seen until it is stopped."""
    found: dict[int, list[Passed]] = defaultdict(list)
    text = (program.folder / "network.c").read_text()
    kernels = {called[1] for called in CALLED.finditer(text) if "const[]" not in called[2]}
    with program.target.simulator() as simulator:
        elf = simulator.load(path)
        known = places(elf, kernels) | {elf.symbols["all_layers"]: START}
        watched = {*range(program.writer.schedule.cores), program.target.agents.dma_core}
        simulator.probe(known, cores=watched)
        with suppress(CompileError, InternalError):
            run_to_end(simulator)
        for event in simulator.probes():
            place = known[event.address]
            if found[event.core] or place == START:
                asked = f"{ASK}-{known.get(event.arguments[0], '')}"
                found[event.core].append(Passed(asked if place == ASK else place, event.arguments))
    return found


def places(elf: Elf, kernels: set[str]) -> dict[int, str]:
    """By address, what a core does there."""
    own = [name for name in elf.symbols if AGENT.fullmatch(name) or LOOP.fullmatch(name)]
    found = {at: RETURN for name in (*own, *BEGINNERS) for at in return_addresses(elf, name)}
    found |= {elf.symbols[name]: what for name, what in NAMED.items() if name in elf.symbols}
    for name, address in elf.symbols.items():
        if function := FUNCTION.fullmatch(name):
            found[address] = f"{function[2]} {function[1]}"
        elif name.startswith(("tw_dma_in", "tw_dma_out")):
            found[address] = f"{MOVE} {int(name.endswith('strided'))}"
        elif name in kernels:
            found[address] = KERNEL
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


@dataclass
class Steps:
    """Of one core."""

    drives: bool
    """What it runs are submissions, which are over when they return."""
    asked: set[int]
    """Layers whose transfers it starts for others."""
    begun: int = 0
    groups: dict[tuple[str, int], int] = field(default_factory=dict)
    """(how they are waited for, what the runtime calls them) -> groups by their order."""
    serves: bool = False
    submitted: Seen | None = None

    def of(self, lane: list[Passed]) -> Iterator[Seen]:
        for one, *after in zip(lane, [*lane[1:], END], [*lane[2:], END, END], strict=False):
            if one.what == RETURN:
                yield from [] if self.submitted is None else [self.submitted]
                self.submitted = None
            elif one.what in CALLS:
                yield from self._call(one, after[0])
            elif one.what == BEGIN or one.what.startswith(ASK):
                yield from self._group(one, after)
            elif not (one.what == MOVE and self.serves):
                yield from self._other(one)

    def _call(self, one: Passed, after: Passed) -> Iterator[Seen]:
        given = after.arguments if after.what == KERNEL else ()
        if one.what == "run" and self.drives:
            self.submitted = Seen("submit", one.layer, addresses=given)
        else:
            yield Seen(one.what, one.layer, addresses=given)

    def _group(self, one: Passed, after: list[Passed]) -> Iterator[Seen]:
        """The runtime's name for it is what the call returns."""
        self.serves = any(moved.what in MOVES and moved.layer in self.asked for moved in after)
        kind, name = WAIT if one.what == BEGIN else ASKED, after[0].arguments[0]
        if not self.serves and name != NONE[kind]:
            self.groups[kind, name] = self.begun
            yield Seen(one.what, one.layer, self.begun, tile=one.arguments[1])
            self.begun += 1

    def _other(self, one: Passed) -> Iterator[Seen]:
        first = one.arguments[0]
        if one.what == MOVE:
            yield Seen(MOVE, addresses=(first, one.arguments[1 + one.layer]))
        elif one.what in NONE and first != NONE[one.what]:
            yield Seen(WAIT, group=self.groups.get((one.what, first), -1))
        elif one.what == JOB:
            yield Seen(JOB, group=first)
        elif one.what == BARRIER:
            yield Seen(BARRIER)
