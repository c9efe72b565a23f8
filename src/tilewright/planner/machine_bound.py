"""Cycles that no run of a network on a machine can be below, whatever is planned: from peak rates of its engines and
links, and from which layer needs which. Predictions and costs that were fitted have no part in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Graph, Node
from tilewright.records import dataclass
from tilewright.target.memory import Link
from tilewright.target.target import Engine
from tilewright.tiling.inside import inside_share, macs_inside

UNKNOWN = "stated peak rates say nothing of its layers"


@dataclass(frozen=True)
class MachineBound:
    cycles: int
    """0 where nothing is known."""
    limit: str
    """What takes so long: the work of engines, one after the other, or the bytes of a link."""
    declared: str = ""
    """Where users state peaks that it follows from."""

    def __str__(self) -> str:
        if not self.cycles:
            return f"no bound of this machine: {self.limit}"
        return f"at least {self.cycles:,} cycles on this machine ({self.limit})"

    def hold(self, cycles: int) -> None:
        """Raise `InternalError` where a run has taken less, or `CompileError` where a user's statement may be why."""
        if cycles >= self.cycles:
            return
        what = f"a run took {cycles:,} cycles, which was said to take {self}"
        if self.declared:
            raise CompileError(self.declared, what, "state what the device can do at best, or nothing")
        raise InternalError("bound", what)

    def as_dict(self) -> dict[str, int | str]:
        return {"least_cycles": self.cycles, "least_cycles_by": self.limit}


NO_BOUND = MachineBound(0, UNKNOWN)


@dataclass(frozen=True)
class Way:
    """How a layer can be computed."""

    engine: Engine
    node: Node
    """What the engine computes for it."""


@dataclass(frozen=True, order=True)
class Least:
    """Cycles of a layer, and the engine that could take as few."""

    cycles: float
    engine: str


NOTHING = Least(0.0, "")


@dataclass(frozen=True)
class Work:
    """Layers, the ways to compute each, and what computes and moves at once."""

    graph: Graph
    """With the types of all tensors that ways read."""
    layers: Mapping[str, Sequence[Way]]
    """By the keys of nodes that have something to do."""
    cores: int
    links: Sequence[Link] = ()
    """That fill the memory that tiles are computed in."""
    far: Mapping[Link, int] | None = None
    """Bytes of constants that must come over a link because of where they live."""

    def bound(self) -> MachineBound:
        found = [self._in_order(), self._by_engines(), *self._over_links()]
        best = max(found, key=lambda one: one.cycles)
        if not best.cycles:
            return NO_BOUND
        return replace(best, limit=best.limit + self._uncounted, declared=self._declared)

    @property
    def _uncounted(self) -> str:
        """Engines of which nothing is known, so that what they could compute counts as nothing."""
        engines = (way.engine for ways in self.layers.values() for way in ways if way.engine.peak is None)
        names = " or ".join(dict.fromkeys(engine.name for engine in engines))
        return f", without layers that {names} could compute" if names else ""

    @property
    def _declared(self) -> str:
        peaks = (way.engine.peak for ways in self.layers.values() for way in ways)
        return ", ".join(dict.fromkeys(peak.source for peak in peaks if peak and peak.declared))

    # ---- engines --------------------------------------------------------------------------------------------------

    def _in_order(self) -> MachineBound:
        """The longest chain of layers that need one another's results."""
        ends: dict[str, float] = {}
        for node in self.graph.nodes:
            began = max((ends.get(name, 0.0) for name in node.inputs), default=0.0)
            ends |= dict.fromkeys(node.outputs, began + self.least.get(node.key, NOTHING).cycles)
        return MachineBound(math.floor(max(ends.values(), default=0.0)), f"work of {self._names}, layer after layer")

    def _by_engines(self) -> MachineBound:
        """All engines at work all the time."""
        total = sum(one.cycles for one in self.least.values())
        engines = {way.engine.name for ways in self.layers.values() for way in ways}
        return MachineBound(math.floor(total / max(len(engines), 1)), f"work of {self._names}")

    @property
    def _names(self) -> str:
        """Engines that are the best for a layer."""
        return " and ".join(dict.fromkeys(one.engine for one in self.least.values() if one.cycles))

    @cached_property
    def least(self) -> dict[str, Least]:
        """Of each layer, by the node's key, on the engine that is the best for it."""
        found = {key: [Least(self._cycles(way), way.engine.name) for way in ways] for key, ways in self.layers.items()}
        return {key: min(each, default=NOTHING) for key, each in found.items()}

    def _cycles(self, way: Way) -> float:
        """On an engine at its peak; 0 where that is not stated."""
        peak, op, types = way.engine.peak, way.node.op, self.graph.all_types(way.node)
        if peak is None:
            return 0.0
        macs = macs_inside(op, self._shapes(way.node))
        multiplying = macs / peak.macs(op, types, self.cores) if macs else 0.0
        return max(multiplying, self._touched(way.node) / (peak.bytes * self.cores))

    def _touched(self, node: Node) -> int:
        """Bytes that a layer at least reads and writes: of an operator element by element all that is no constant."""
        if node.op.elementwise:
            changing = {name for name in node.inputs if name and name not in self.graph.constants}
            return self._bytes({*changing, *filter(None, node.outputs)})
        return self._bytes(filter(None, node.outputs)) if node.op.multiplies else 0

    # ---- links ----------------------------------------------------------------------------------------------------

    def _over_links(self) -> list[MachineBound]:
        found = [
            _over((link.name,), f"from {link.outer}", size, 1 / link.read) for link, size in (self.far or {}).items()
        ]
        if self.links:
            names = dict.fromkeys(link.name for link in self.links)
            rates = (max(1 / link.read for link in self.links if link.name == name) for name in names)
            size, outside = self._read(), self._outside()
            found.append(_over(tuple(names), "of weights", size, sum(rates) + outside))
        return found

    def _read(self) -> int:
        """Bytes of constants, each once, that cores multiply with and nothing else could."""
        found: dict[str, int] = {}
        for ways in self.layers.values():
            sizes: list[dict[str, int]] = sorted(map(self._weights, ways), key=_total)
            found |= sizes[0] if sizes else {}
        return _total(found)

    def _weights(self, way: Way) -> dict[str, int]:
        """Constants that a way reads over links; none where the engine may reach where they live."""
        node, peak = way.node, way.engine.peak
        if peak is None or math.isinf(peak.outside) or not node.op.multiplies or node.op.limits(self._shapes(node)):
            return {}
        share = inside_share(node.op, self._shapes(node))
        names = {name for name in node.inputs if name in self.graph.constants}
        return {name: math.floor(share * self.graph.types[name].bytes) for name in names}

    def _outside(self) -> float:
        peaks = {way.engine.name: way.engine.peak for ways in self.layers.values() for way in ways}
        return sum(self.cores * peak.outside for peak in peaks.values() if peak and not math.isinf(peak.outside))

    # ---- tensors --------------------------------------------------------------------------------------------------

    def _bytes(self, names: Iterable[str]) -> int:
        return sum(self.graph.types[name].bytes for name in names)

    def _shapes(self, node: Node) -> dict[str, tuple[int, ...]]:
        return {name: self.graph.types[tensor].shape for name, tensor in node.operands().items()}


def _total(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())


def _over(names: tuple[str, ...], what: str, size: int, rate: float) -> MachineBound:
    return MachineBound(math.floor(size / rate), f"{size:,} bytes {what} over {' and '.join(names)}")
