"""A check of schedules without a cluster, from the definitions and without the planner's code. It always runs.

It follows what every byte holds from call to call: whoever reads finds what it expects, nothing is written where a call
may not write, and jobs of accelerators are waited for before others touch their bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.errors import InternalError, instance
from tilewright.ir.graph import Node
from tilewright.ops.concat import Concat
from tilewright.ops.slice import Slice
from tilewright.planner.home import ARENA, CONSTANT, INPUT, OUTPUT, Home
from tilewright.planner.schedule.schedule import Call, Schedule


class Region(NamedTuple):
    """Whose bytes, and from where to where."""

    whose: str
    start: int
    stop: int

    def meets(self, other: Region) -> bool:
        return self.whose == other.whose and self.start < other.stop and other.start < self.stop


class Piece(NamedTuple):
    """Bytes of a tensor that a call, the caller or the linker has made."""

    tensor: str
    start: int
    stop: int


def check_calls(schedule: Schedule) -> Schedule:
    """The schedule, or `InternalError` if a call could go wrong."""
    if len(schedule.waits) != len(schedule.calls) + 1:
        raise InternalError("schedule", f"has {len(schedule.waits)} places to wait at, {len(schedule.calls)} calls")
    checker = _Checker(schedule)
    checker.begin()
    for number, call in enumerate(schedule.calls):
        checker.call(number, call)
    checker.end()
    return schedule


@dataclass
class _Checker:
    schedule: Schedule
    held: dict[str, list[tuple[int, Piece]]] = field(default_factory=dict)
    """Whose bytes -> what lies there, by first bytes; nothing overlaps."""
    jobs: dict[int, Call] = field(default_factory=dict)
    """Calls that accelerators have and nobody has waited for."""
    computed: set[str] = field(init=False)
    """Keys of nodes that calls compute."""
    roles: dict[str, str] = field(init=False)
    """Tensors of the caller and the linker, and states -> the kind of place that is theirs."""
    stems: dict[str, set[str]] = field(init=False)
    """Engine -> its kernels."""

    def __post_init__(self) -> None:
        graph = self.schedule.graph
        self.computed = {call.node.key for call in self.schedule.calls}
        self.roles = {**dict.fromkeys(graph.outputs, OUTPUT), **dict.fromkeys(graph.inputs, INPUT)}
        self.stems = {one.name: {kernel.stem for kernel in one.kernels} for one in self.schedule.target.engines}
        self.roles |= dict.fromkeys(graph.constants, CONSTANT) | {state.before: ARENA for state in graph.states}

    def begin(self) -> None:
        """The caller has written inputs, earlier calls have left states, the linker has placed constants."""
        graph = self.schedule.graph
        if len(self.computed) != len(self.schedule.calls):
            raise InternalError("schedule", "calls a node twice")
        for name in graph.types:
            self._check_role(name, self.schedule.places[name])
            self._check_place(name, self.schedule.places[name])
        for name in (*graph.constants, *graph.inputs, *(state.before for state in graph.states)):
            self._hold(self._region(name), name)

    def end(self) -> None:
        self._wait(self.schedule.waits[-1])
        if self.jobs:
            raise InternalError("schedule", f"nobody waits for call {next(iter(self.jobs))}")
        graph = self.schedule.graph
        for name in graph.outputs:
            self._check_held(name, self._region(name), f"output '{name}'")
        for state in graph.states:
            self._check_held(state.after, self._region(state.before), f"state '{state.name}'")

    def call(self, number: int, call: Call) -> None:
        self._wait(self.schedule.waits[number])
        self._check_kernel(call)
        self._check_jobs(call)
        for name in filter(None, call.node.inputs):
            self._check_held(name, self._region(name), call.node.where)
        scratch = list(self._scratch(call))
        self._check_written(call, scratch)
        for region in scratch:
            self._poison(region)
        for name in filter(None, call.node.outputs):
            self._hold(self._region(name), name)
        if call.kernel.offloaded:
            self.jobs[number] = call

    # ---- places -----------------------------------------------------------------------------------------------------

    def _region(self, name: str) -> Region:
        home, size = self.schedule.places[name], self.schedule.graph.types[name].bytes
        if home.kind == ARENA:
            return Region(ARENA, home.offset, home.offset + size)
        if home.owner in self.schedule.inputs:
            start = self.schedule.inputs[home.owner]
            return Region(ARENA, start, start + size)
        return Region(f"{home.kind} {home.owner}", 0, size)

    def _check_role(self, name: str, home: Home) -> None:
        """What is not in the arena is where the caller or the linker has it, and what is theirs is there."""
        if home.kind != ARENA and self.roles.get(home.owner) != home.kind:
            raise InternalError(f"tensor '{name}'", f"is at {home} of '{home.owner}', which is something else")
        if name in self.roles and (home.kind, home.owner) != (self.roles[name], name):
            raise InternalError(f"tensor '{name}'", f"is at {home} of '{home.owner}', not its own {self.roles[name]}")

    def _check_place(self, name: str, home: Home) -> None:
        """In one memory of the arena; a tensor that others are part of begins where words may."""
        graph, region = self.schedule.graph, self._region(name)
        if region.whose == ARENA and region.start < region.stop:
            self._check_inside(region, f"tensor '{name}'", home.memory)
            unit = self._alignment if home.owner == name else graph.types[name].element.itemsize
            if region.start % unit:
                raise InternalError(f"tensor '{name}'", f"is at {home}, which is not aligned")
        if home.kind != ARENA and graph.types[home.owner].bytes < region.stop - region.start:
            raise InternalError(f"tensor '{name}'", f"is larger than '{home.owner}', where it lies")

    def _check_inside(self, region: Region, where: str, memory: str = "") -> None:
        parts = [part for part in self.schedule.parts if part.start <= region.start and region.stop <= part.end]
        if not parts or region.stop > self.schedule.arena_bytes:
            raise InternalError(where, f"lies in bytes {region.start} to {region.stop}, beyond the arena or its part")
        if memory and memory != parts[0].memory:
            raise InternalError(where, f"is said to be in {memory}, and is in {parts[0].memory}")

    @property
    def _alignment(self) -> int:
        return self.schedule.target.memories[0].alignment

    # ---- what bytes hold --------------------------------------------------------------------------------------------

    def _poison(self, region: Region) -> None:
        """Whatever lay there is only what is left of it on both sides."""
        if region.start == region.stop:
            return
        kept = []
        for start, piece in self.held.get(region.whose, []):
            stop = start + piece.stop - piece.start
            if start < min(region.start, stop):
                kept.append((start, piece._replace(stop=piece.start + min(region.start, stop) - start)))
            if stop > max(region.stop, start):
                first = max(region.stop, start)
                kept.append((first, piece._replace(start=piece.start + first - start)))
        self.held[region.whose] = kept

    def _hold(self, region: Region, name: str) -> None:
        self._poison(region)
        if region.start < region.stop:
            self.held[region.whose].append((region.start, Piece(name, 0, region.stop - region.start)))

    def _check_held(self, name: str, region: Region, where: str) -> None:
        at = region.start
        for piece in self._content(name):
            if not any(_has(lying, at, piece) for lying in self.held.get(region.whose, ())):
                raise InternalError(where, f"reads '{name}' at {region}, where '{piece.tensor}' is not, or not whole")
            at += piece.stop - piece.start

    def _content(self, name: str) -> tuple[Piece, ...]:
        """What a tensor's bytes are, one behind the other: views and layers with nothing to do make none."""
        graph, maker = self.schedule.graph, self.schedule.graph.producers.get(name)
        if maker is None or maker.key in self.computed:
            return (Piece(name, 0, graph.types[name].bytes),) if graph.types[name].bytes else ()
        if maker.op.view:
            return self._content(maker.inputs[0])
        if isinstance(maker.op, Concat) and math.prod(graph.types[name].shape[: maker.op.axis]) == 1:
            return tuple(piece for operand in maker.inputs for piece in self._content(operand))
        if isinstance(maker.op, Slice):
            return tuple(_cut(self._content(maker.inputs[0]), *self._taken(maker)))
        raise InternalError(maker.where, "is computed by no call")

    def _taken(self, node: Node) -> tuple[int, int]:
        """The bytes of its operand that a Slice takes."""
        kind, op = self.schedule.graph.types[node.inputs[0]], instance(node.op, Slice)
        first, count, stride = 0, 1, 1
        for length, start, step, size in reversed([*zip(kind.shape, op.starts, op.steps, op.sizes, strict=True)]):
            if size > 1 and step * stride != count:
                raise InternalError(node.where, "is computed by no call, and takes what does not lie side by side")
            first, count, stride = first + start * stride, count * size, stride * length
        return first * kind.element.itemsize, (first + count) * kind.element.itemsize

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _check_kernel(self, call: Call) -> None:
        """It is its engine's, computes a node of the graph and takes what it is given, with its own parameters."""
        graph, kernel = self.schedule.graph, call.kernel
        if graph.producers.get(call.node.key) != call.node:
            raise InternalError(call.node.where, "is not a node of the graph")
        if kernel.stem not in self.stems.get(call.engine, ()):
            raise InternalError(call.node.where, f"{call.engine} has no kernel {kernel.stem}")
        types = graph.all_types(call.node)
        if not isinstance(call.node.op, kernel.op) or not kernel.takes(call.node.op, types):
            raise InternalError(call.node.where, f"is not what {kernel.stem} computes")
        given = [(call.node.op, types, call.params), *((p.share.op, p.share.types, p.params) for p in call.parts)]
        if any(params != kernel.params(op, kinds) for op, kinds, params in given):
            raise InternalError(call.node.where, f"{kernel.stem} has other parameters than its own")

    def _scratch(self, call: Call) -> Iterator[Region]:
        """Working memory, of every thread."""
        whole = (call.node.op, self.schedule.graph.all_types(call.node), call.scratch)
        owns = [(part.share.op, part.share.types, part.scratch) for part in call.parts] or [whole]
        for op, types, start in owns:
            if not (size := call.kernel.scratch_bytes(op, types)):
                continue
            if start is None or start % self._alignment:
                raise InternalError(call.node.where, f"has its {size} bytes of working memory at {start}")
            region = Region(ARENA, start, start + size)
            self._check_inside(region, call.node.where)
            yield region

    def _check_written(self, call: Call, scratch: Sequence[Region]) -> None:
        """Results and working memory lie apart, and nowhere that is only read; a result is in the place of an operand
        where operator or kernel allow it, and then of all of it."""
        results = [self._region(name) for name in filter(None, call.node.outputs)]
        _check_apart(call, [*scratch, *results])
        for region in results:
            if region.whose.split()[0] in (CONSTANT, INPUT):
                raise InternalError(call.node.where, f"writes {region}")
        for operand, name in call.node.operands().items():
            read = self._region(name)
            for region in scratch:
                if region.meets(read):
                    raise InternalError(call.node.where, f"has its working memory where it reads {operand}")
            for region in results:
                if region.meets(read) and not (region == read and self._in_place(call, operand, name)):
                    raise InternalError(call.node.where, f"writes {region} where it reads {operand}")

    def _in_place(self, call: Call, operand: str, name: str) -> bool:
        types, op = self.schedule.graph.types, call.node.op
        read, made = types[name], types[call.node.key]
        if op.elementwise:  # as many elements are in the same order, whatever axes of one element there are
            return (read.dtype, read.elements) == (made.dtype, made.elements)
        allowed = operand == op.overwrites
        allowed = allowed or operand in call.kernel.in_place(op, self.schedule.graph.all_types(call.node))
        return allowed and read == made

    # ---- accelerators -----------------------------------------------------------------------------------------------

    def _wait(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            if number not in self.jobs:
                raise InternalError("schedule", f"waits for call {number}, which no accelerator has")
            del self.jobs[number]

    def _check_jobs(self, call: Call) -> None:
        """An accelerator has one job at a time; meanwhile others leave its bytes alone."""
        written = self._written(call) if self.jobs else []
        touched = [*written, *self._read(call)]
        for number, job in self.jobs.items():
            if call.kernel.offloaded and call.engine == job.engine:
                raise InternalError(call.node.where, f"is submitted while {call.engine} has call {number}")
            made = any(one.meets(other) for one in self._written(job) for other in touched)
            if made or any(one.meets(other) for one in self._read(job) for other in written):
                raise InternalError(call.node.where, f"touches bytes of call {number}, which is not waited for")

    def _read(self, call: Call) -> list[Region]:
        return [self._region(name) for name in filter(None, call.node.inputs)]

    def _written(self, call: Call) -> list[Region]:
        return [*(self._region(name) for name in filter(None, call.node.outputs)), *self._scratch(call)]


def _check_apart(call: Call, regions: Sequence[Region]) -> None:
    for number, one in enumerate(regions):
        if any(one.meets(other) for other in regions[:number]):
            raise InternalError(call.node.where, f"writes {one} twice")


def _has(lying: tuple[int, Piece], at: int, wanted: Piece) -> bool:
    """Whether what lies somewhere has a piece at a byte, all of it."""
    start, piece = lying
    same = piece.tensor == wanted.tensor and wanted.start - piece.start == at - start
    return same and piece.start <= wanted.start and wanted.stop <= piece.stop


def _cut(pieces: Sequence[Piece], start: int, stop: int) -> Iterator[Piece]:
    """Of pieces one behind the other, the bytes from start to stop."""
    at = 0
    for piece in pieces:
        size = piece.stop - piece.start
        first, last = max(start - at, 0), min(stop - at, size)
        if first < last:
            yield piece._replace(start=piece.start + first, stop=piece.start + last)
        at += size
