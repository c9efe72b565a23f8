"""What there is to decide about widths: for each tensor and the layers that read it, what every choice costs and loses.

Losses are measured (`sensitivity.py`); costs are asked of the target's planner (`target_costs.py`), with everything
that comes with a choice: floats at the borders of integers are converted, their constants take four times the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from tilewright.quantiser.cost.floats import floats_of
from tilewright.quantiser.insert import with_quantisers
from tilewright.quantiser.prepare.places import layer_of
from tilewright.quantiser.quantise import Options, Ready, with_weights
from tilewright.quantiser.rounding.tune import Tuning
from tilewright.quantiser.samples.stream import Progress
from tilewright.quantiser.width_search.decision import AS_PREPARED, Decision, decided, readers
from tilewright.quantiser.width_search.knapsack import Choice, Point, front
from tilewright.quantiser.width_search.sensitivity import FLOAT, INT16, Noises, Weights, noises, weights_by_bits
from tilewright.quantiser.width_search.target_costs import TargetCost, cost_on
from tilewright.records import dataclass
from tilewright.target.settings import Settings

NARROW = (6, 4, 3, 2)
"""Bits of weights that are tried beside 8."""
MOST_WIDE = 4
"""Tensors that may get 16 bits: those that help most; each is planned once to know what it costs."""
MOST_FLOATS = 4
"""Tensors that may be floats, and layers whose weights may, likewise."""
MOST_ASKED = 2 * MOST_WIDE
"""Tensors that are asked for in 16 bits, as some turn out to have no integer form in that."""
WORTH = 0.05
"""Of the noise that the network has: what takes away less is left as it is."""


@dataclass(frozen=True)
class Decided:
    """A choice of one item, and what it means."""

    decision: Decision
    choice: Choice


Item = tuple[Decided, ...]


@dataclass(frozen=True)
class Problem:
    ready: Ready
    unit: str
    items: tuple[Item, ...]

    def points(self) -> list[Point]:
        return front([[part.choice for part in item] for item in self.items])

    def decision(self, point: Point) -> Decision:
        return _joined([item[pick] for item, pick in zip(self.items, point.picks, strict=True)]).decision


@dataclass(frozen=True)
class Asking:
    """Who is asked what widths cost."""

    target: str
    settings: Settings
    unit: str

    def cost(self, ready: Ready, weights: Weights) -> TargetCost:
        return cost_on(with_quantisers(with_weights(ready, weights)), self.target, self.settings)


def problem_of(ready: Ready, base: Weights, cost: TargetCost, ask: Asking, options: Options, told: Progress) -> Problem:
    """`base` are the weights of 8 bits, `cost` what the network takes with them."""
    tuning = Tuning(options.learn_rounding, options.correct_bias, options.short_factors)
    fixed = _fixed(ready, options)
    narrow = weights_by_bits(ready, base, NARROW, tuning, told)
    found = noises(ready, base, narrow, told, options.processes)
    costs = {bits: ask.cost(ready, weights) for bits, weights in narrow.items()}
    layers = {key: _layer(ready, key, cost, costs, found, ask.unit) for key in base if key not in fixed}
    asked = _Asked(ready, base, cost, ask, found, fixed, told)
    return Problem(ready, ask.unit, tuple(_items(ready, layers, asked.wide(), asked.layers(), asked.unrounded())))


def _fixed(ready: Ready, options: Options) -> set[str]:
    """Tensors and layers whose width the user has said."""
    said, graph = {*options.widths.layers}, ready.network
    layers = {key for key in ready.widths if {key, graph.producers[key].name} & said}
    own = {
        leader
        for leader in ready.found.members
        if {leader, *(name for node in layer_of(graph, ready.found, leader) for name in (node.key, node.name))} & said
    }
    return layers | own


def _layer(
    ready: Ready, key: str, cost: TargetCost, costs: Mapping[int, TargetCost], found: Noises, unit: str
) -> list[Decided]:
    """The bits that a layer's weights may have: 8 first."""
    name = ready.network.producers[key].name
    losses = {8: 0.0} | {bits: max(found.of_layer(key, f"w{bits}"), 0.0) for bits in costs}
    by_bits = {8: cost, **costs}
    return [
        Decided(Decision({key: bits}), Choice(one.of_layer(unit, name), losses[bits])) for bits, one in by_bits.items()
    ]


@dataclass
class _Asked:
    """What helps most, planned one at a time."""

    ready: Ready
    base: Weights
    cost: TargetCost
    ask: Asking
    found: Noises
    fixed: set[str]
    told: Progress
    done: int = field(default=0, init=False)

    def wide(self) -> dict[str, Decided]:
        """Tensors in 16 bits."""
        formats, made = self.ready.bare.formats, dict[str, Decided]()
        tried = [name for name in self._tensors if formats[name].dtype == "int8"]
        gains = {name: -self.found.of_tensor(name, INT16) for name in tried}
        floats = len(floats_of(with_quantisers(with_weights(self.ready, self.base))))
        for leader in self._worth(gains)[:MOST_ASKED]:
            decision = Decision(wide=frozenset([leader]))
            graph = with_quantisers(with_weights(decided(self.ready, decision), self.base))
            # Some functions have an integer form for bytes alone: more bits are not worth floats in between.
            if len(made) < MOST_WIDE and len(floats_of(graph)) <= floats:
                made[leader] = self._part(decision, -gains[leader])
        return made

    def layers(self) -> dict[str, Decided]:
        """Layers with float weights."""
        losses = {key: self.found.of_layer(key, FLOAT) for key in self.base}
        return {
            key: self._part(Decision(float_layers=frozenset([key])), losses[key])
            for key in self._worth({key: -loss for key, loss in losses.items()})[:MOST_FLOATS]
        }

    def unrounded(self) -> dict[str, Decided]:
        """Tensors in floats, where 16 bits do not help as much."""
        gains = {
            name: -self.found.of_tensor(name, FLOAT) - max(-self.found.of_tensor(name, INT16), 0.0)
            for name in self._tensors
            if not self._enters_cells(name)
        }
        return {
            name: self._part(Decision(unrounded=frozenset([name])), self._loss_in_floats(name))
            for name in self._worth(gains)[:MOST_FLOATS]
        }

    @property
    def _tensors(self) -> list[str]:
        return [name for name, width in self.found.tensors if width == INT16]

    def _loss_in_floats(self, leader: str) -> float:
        """Of a tensor and the layers that read it."""
        layers = readers(self.ready.network, self.base, self.ready.found.members[leader])
        return self.found.of_tensor(leader, FLOAT) + sum(min(self.found.of_layer(key, FLOAT), 0.0) for key in layers)

    def _enters_cells(self, leader: str) -> bool:
        """Recurrent cells of integers read integers."""
        return any(cells.layer.source in self.ready.found.members[leader] for cells in self.ready.bare.cells.values())

    def _worth(self, gains: Mapping[str, float]) -> list[str]:
        """Those that take away enough of the noise, most first."""
        least = WORTH * self.found.base.share
        kept = [name for name, gain in gains.items() if gain > least and name not in self.fixed]
        return sorted(kept, key=lambda name: -gains[name])

    def _part(self, decision: Decision, loss: float) -> Decided:
        self.done += 1
        self.told("asking the target", self.done, MOST_WIDE + 2 * MOST_FLOATS)
        made = self.ask.cost(decided(self.ready, decision), self.base)
        return Decided(decision, Choice(made.of(self.ask.unit) - self.cost.of(self.ask.unit), loss))


def _items(
    ready: Ready, layers: Mapping[str, list[Decided]], wide: Mapping[str, Decided], floats: Mapping[str, Decided],
    unrounded: Mapping[str, Decided],
) -> Iterator[Item]:  # fmt: skip
    """One for each tensor and the layers that read it: what is 16 bits wide is multiplied with weights of 8, for no
    kernel gains from both, and what is a float is multiplied with floats."""
    left = {*layers}
    for leader, members in ready.found.members.items():
        own = readers(ready.network, layers, members)
        left -= {*own}
        if own or leader in wide or leader in unrounded:
            yield tuple(_parts(leader, [layers[key] for key in own], [floats.get(key) for key in own], wide, unrounded))
    for key in left:
        yield (*layers[key], *_with_float(layers[key], floats.get(key)))


def _parts(
    leader: str, layers: Sequence[list[Decided]], floats: Sequence[Decided | None], wide: Mapping[str, Decided],
    unrounded: Mapping[str, Decided],
) -> Iterator[Decided]:  # fmt: skip
    narrow = [[*each, *_with_float(each, one)] for each, one in zip(layers, floats, strict=True)]
    yield from _sums(narrow)
    if leader in wide:
        whole = [[each[0], *_with_float(each, one)] for each, one in zip(layers, floats, strict=True)]
        yield from _sums([[wide[leader]], *whole])
    if leader in unrounded:
        yield _joined([unrounded[leader], *(replace(each[0], decision=AS_PREPARED) for each in layers)])


def _with_float(layer: list[Decided], floats: Decided | None) -> list[Decided]:
    """What floats cost is said against 8 bits."""
    return [] if floats is None else [replace(_joined([layer[0], floats]), decision=floats.decision)]


def _sums(each: Sequence[Sequence[Decided]]) -> list[Decided]:
    """Of all ways to choose for each of some layers, those worth having."""
    points = front([[part.choice for part in parts] for parts in each])
    return [_joined([parts[pick] for parts, pick in zip(each, point.picks, strict=True)]) for point in points]


def _joined(parts: Sequence[Decided]) -> Decided:
    decision = AS_PREPARED
    for part in parts:
        decision |= part.decision
    return Decided(decision, Choice(sum(part.choice.cost for part in parts), sum(part.choice.loss for part in parts)))
