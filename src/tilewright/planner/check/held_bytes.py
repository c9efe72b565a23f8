"""What every byte holds while the events of a schedule happen: whoever reads finds what it expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import BYTES
from tilewright.ops.concat import Concat
from tilewright.ops.slice import Slice
from tilewright.planner.check.event_regions import elements, extent, of_layer, place
from tilewright.planner.check.held_buffers import HeldBuffers
from tilewright.planner.home import ARENA, COPY
from tilewright.planner.keys import PARAMS
from tilewright.planner.schedule.events import Region, Spans
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass


@dataclass
class _Held:
    """What a home of tensors holds."""

    owner: str
    start: int
    stop: int
    elements: dict[str, int] = field(default_factory=dict)
    """Tensor -> elements that have been written."""
    written: dict[str, set[Spans]] = field(default_factory=dict)
    overwritten: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Tensor -> the layer that writes over it, and what."""


@dataclass
class HeldBytes:
    schedule: Schedule
    buffers: dict[str, HeldBuffers] = field(default_factory=dict)
    homes: dict[str, list[_Held]] = field(default_factory=dict)
    graph: Graph = field(init=False)
    makers: dict[str, int] = field(init=False)
    """Tensor -> the layer that makes it. Views, and Concats whose operands are made in place, have none."""

    def __post_init__(self) -> None:
        self.graph, layers = self.schedule.graph, self.schedule.layers
        self.makers = {name: layer.number for layer in layers for name in layer.option.node.outputs}
        given = [name for name in self.graph.inputs if self.schedule.homes[name].kind == ARENA]
        for name in (*given, *(state.before for state in self.graph.states)):
            home, kind = self.schedule.homes[name], self.graph.types[name]
            kept = _Held(name, home.offset, home.offset + kind.bytes, {name: kind.elements})
            if any(kept.start < one.stop and one.start < kept.stop for one in self.homes.get(home.memory, ())):
                raise InternalError(f"tensor '{name}'", f"is at {home} when a call begins, where another one is")
            self.homes.setdefault(home.memory, []).append(kept)

    def check(self, region: Region, where: str, layer: int) -> None:
        if region.memory not in self.schedule.arenas:
            self._check_given(region, where, layer)
        elif region.owner:
            self._check_available(region.tensor, region.owner, region, where, layer, region.spans)
        elif of_layer(region, layer) not in self.buffers.get(region.memory, HeldBuffers()):
            raise InternalError(where, f"{place(region)} does not hold {region.tensor}{list(region.spans)}")

    def check_whole(self, tensor: str, owner: str, where: str) -> None:
        """All of a tensor is there when everything is over."""
        self._check_available(tensor, owner, None, where, -1, ())

    def _check_given(self, region: Region, where: str, layer: int) -> None:
        """Constants and inputs are there from the beginning; outputs when they have been made."""
        if region.role == PARAMS or region.memory.startswith(("constant ", "input ")):
            return
        self._check_available(region.tensor, region.owner, region, where, layer, region.spans)

    def _check_available(
        self, tensor: str, owner: str, region: Region | None, where: str, layer: int, spans: Spans
    ) -> None:
        """Everything that a tensor is made of has been written where it is looked for, and not been written over."""
        if owner in self.graph.constants and region is not None and self._is_fetched(region):
            base = region.start - extent(region, BYTES[self.graph.types[tensor].dtype])[0]
            staged = [held for held in self.buffers.get(region.memory, ()) if held.owner == owner]
            if not any(held.start == base and region.stop <= held.stop for held in staged):
                raise InternalError(where, f"{place(region)} does not hold {tensor}, which is fetched there")
            return
        home = self.schedule.homes[tensor]
        space = home.memory if home.kind == ARENA else f"{home.kind} {home.owner}"
        held = next((held for held in self.homes.get(space, ()) if held.owner == owner), None)
        for part in self.parts(tensor):
            given = part in self.graph.inputs and self.schedule.homes[part].kind != ARENA
            if given or part in self.graph.constants or not self.graph.types[part].elements:
                continue
            made = held.elements.get(part, 0) if held else 0
            if made != self.graph.types[part].elements:
                raise InternalError(
                    where, f"{made} of {self.graph.types[part].elements} elements of {part} are in {space}"
                )
            if held is not None and part in held.overwritten:
                by, other = held.overwritten[part]
                if by != layer or spans in held.written.get(other, ()):
                    raise InternalError(where, f"layer {by} has written over {part}")

    def _is_fetched(self, region: Region) -> bool:
        """Whether constants are not there from the beginning."""
        return region.memory in self.schedule.arenas or region.memory.startswith(f"{COPY} ")

    def poison(self, region: Region) -> None:
        """Until a transfer is waited for, its target holds nothing that anyone may rely on."""
        if self._is_home(region):
            self._held(region)
        else:
            self._forget(region.memory, region.start, region.stop)

    def hold(self, region: Region, where: str) -> None:
        """From now on these bytes hold that."""
        if not self._is_home(region):
            self._forget(region.memory, region.start, region.stop)
            self.buffers.setdefault(region.memory, HeldBuffers()).hold(region)
            return
        held = self._held(region)
        if region.spans in held.written.setdefault(region.tensor, set()) and region.spans:
            raise InternalError(where, f"{region.tensor}{list(region.spans)} is written twice")
        held.written[region.tensor].add(region.spans)
        held.elements[region.tensor] = held.elements.get(region.tensor, 0) + elements(region.spans)
        for other in held.elements:
            if other != region.tensor and other not in held.overwritten and self._share(other, region.tensor):
                held.overwritten[other] = self.makers[region.tensor], region.tensor

    def _share(self, one: str, other: str) -> bool:
        """Whether two tensors of one owner have bytes in common: parts of a Concat have none."""
        homes = [(self.schedule.homes[name].offset, self.graph.types[name].bytes) for name in (one, other)]
        (first, size), (second, more) = homes
        if first + size <= second or second + more <= first:
            return False
        places = [self._place_in_concat(name) for name in (one, other)]
        return None in places or places[0][0] != places[1][0] or places[0][1] == places[1][1]  # type: ignore[index]

    def parts(self, name: str) -> Iterator[str]:
        """The tensors whose bytes a tensor has: those that it is a view of, or a Slice or Concat that no layer
        makes."""
        maker = self.graph.producers.get(name)
        if maker is None or name in self.makers or not (maker.op.view or isinstance(maker.op, Concat | Slice)):
            yield name
            return
        for operand in maker.inputs if isinstance(maker.op, Concat) else maker.inputs[:1]:
            yield from self.parts(operand)

    def _place_in_concat(self, name: str) -> tuple[str, str] | None:
        """The Concat without a layer that a tensor is a part of, and the tensor."""
        readers = [node for node in self.graph.consumers.get(name, ()) if isinstance(node.op, Concat)]
        reader = next((node for node in readers if node.key not in self.makers), None)
        return None if reader is None else (reader.key, name)

    def _held(self, region: Region) -> _Held:
        homes = self.homes.setdefault(region.memory, [])
        found = next((held for held in homes if held.owner == region.owner), None)
        if found is None:
            home = self.schedule.homes[region.owner]
            base = home.offset if home.kind == ARENA else 0
            size = self.graph.types[region.owner].bytes
            self._forget(region.memory, base, base + size)
            homes = self.homes[region.memory]
            found = _Held(region.owner, base, base + size)
            homes.append(found)
        if region.start < found.start or region.stop > found.stop:
            raise InternalError(region.tensor, f"{place(region)} is outside its home {found.start}..{found.stop}")
        return found

    def _is_home(self, region: Region) -> bool:
        """Whether it is a window of a tensor that layers make; constants in L2 are staged like buffers."""
        return bool(region.owner) and region.owner not in self.graph.constants

    def _forget(self, memory: str, start: int, stop: int) -> None:
        """These bytes hold nothing any more."""
        if buffers := self.buffers.get(memory):
            buffers.forget(start, stop)
        if homes := self.homes.get(memory):
            self.homes[memory] = [held for held in homes if held.stop <= start or held.start >= stop]
