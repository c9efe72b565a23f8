"""Floats that are rounded to integers when the network runs: which integers are right, and what follows from them.

A float that was computed counts as equal within the tolerance of its tensor's largest value, so that it may lie on
either side of a tie, and either of two integers is right. What is computed from them moves by far more than the
tolerance. So the reference is computed once more, with such elements, and no others, rounded as somebody else did it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

import numpy as np

from tilewright.errors import instance
from tilewright.ir.evaluate import evaluate_node, initial_states
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.cast import Cast
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes.ranges.quantised_range import QUANTISED_RANGES, QuantisedRange
from tilewright.passes.ranges.symmetric_range import SYMMETRIC_RANGES, SymmetricRange
from tilewright.run.compare import NARROW, computes_floats

RANGE, SIZE = 255.0, 127.0
"""Steps of a range with two ends, and of a size."""
TRIES = 4
OTHERS = 2.0**-18
"""Of a tensor's largest value: what float32 rounding does in sums of other programs, which are as right as ours."""
MOST = 0.1
"""Of an output's largest value: what roundings alone move further says nothing about who is right."""
BY_RANGE = QuantisedRange | SymmetricRange
ROUNDS = BY_RANGE | QuantizeLinear
Choose = Callable[[str, Array, Array, Array], Array]
"""A tensor's name, what the reference makes of it, and the least and the largest that are right -> one between them."""


def joined(graph: Graph) -> Graph:
    """Chains of operators that quantise by a range which is found at run time, as one operator each."""
    for ranges in (QUANTISED_RANGES, SYMMETRIC_RANGES):
        graph = ranges.run(graph)
    return graph


def open_roundings(graph: Graph) -> frozenset[str]:
    """The nodes of a joined graph that round floats which were computed."""
    computed, found = set[str](), set[str]()
    for node in graph.nodes:
        follows = any(name in computed for name in node.inputs)
        if follows or (computes_floats(graph, node) and not isinstance(node.op, ROUNDS)):
            computed.update(node.outputs)
        if isinstance(node.op, ROUNDS) and node.inputs[0] in computed:
            found.add(node.key)
    return frozenset(found)


@dataclass
class Rounded:
    """A joined graph computed with one choice for all roundings that are open."""

    graph: Graph
    choose: Choose
    tolerance: float
    turned: int = 0
    """Elements that were not rounded as the reference does it."""
    values: dict[str, Array] = field(default_factory=dict)

    @cached_property
    def _open(self) -> frozenset[str]:
        return open_roundings(self.graph)

    def computed(self, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        """All tensors, by name."""
        kept = initial_states(self.graph)
        self.values = {**self.graph.constants, **{name: feeds[name] for name in self.graph.inputs}}
        self.values |= {state.before: kept[state.name] for state in self.graph.states}
        for node in self.graph.nodes:
            made = self._chosen(node) if self._is_open(node) else evaluate_node(self.graph, node, self.values)
            self.values |= {name: value for name, value in zip(node.outputs, made, strict=False) if name}
        return self.values

    def _is_open(self, node: Node) -> bool:
        """Whether there is something to choose; what is not finite leaves nothing."""
        if node.key not in self._open:
            return False
        x = self.values[node.inputs[0]]
        return bool(np.isfinite(x).all() and x.any())

    def _chosen(self, node: Node) -> tuple[Array, ...]:
        x = self.values[node.inputs[0]]
        margin = np.float32(self.tolerance * np.abs(x).max())
        if isinstance(node.op, QuantisedRange):
            return self._by_range(node, x, margin)
        if isinstance(node.op, SymmetricRange):
            return self._by_size(node, node.op, x)
        op, (scale, zero) = instance(node.op, QuantizeLinear), (self.values[name] for name in node.inputs[1:])
        return (self._either(node.key, lambda moved: op.numpy(moved, scale, zero), x, margin),)

    def _by_range(self, node: Node, x: Array, margin: np.float32) -> tuple[Array, ...]:
        """The ends of the range may move as its elements do, hence scale and zero point."""
        y, scale, zero = node.outputs
        _, own, _ = node.op.numpy(x)
        step = self.choose(scale, own, *(np.asarray(own + side * 2 * margin / RANGE, own.dtype) for side in (-1, 1)))
        low = np.minimum(x.min(), np.float32(0))
        points = (np.rint(np.clip(-(low + change) / step, 0, RANGE)) for change in (np.float32(0), margin, -margin))
        offset = self.choose(zero, *(np.asarray(point, np.uint8) for point in points))
        return self._either(y, lambda moved: QuantizeLinear().numpy(moved, step, offset), x, margin), step, offset

    def _by_size(self, node: Node, op: SymmetricRange, x: Array) -> tuple[Array, ...]:
        """Rows with a scale of their own are tensors of their own: small ones are as exact as large ones."""
        y, scale = node.outputs
        margin = np.float32(self.tolerance) * np.abs(x).max(axis=tuple(range(op.rows, x.ndim)), keepdims=True)
        _, own = op.numpy(x)
        least = np.float32(op.least / SIZE)
        ends = (np.maximum(own + side * margin / np.float32(SIZE), least) for side in (-1, 1))
        step = self.choose(scale, own, *ends)

        def quantised(moved: Array) -> Array:
            exact = moved / step
            whole = np.sign(exact) * np.floor(np.abs(exact) + np.float32(0.5))
            return Cast("int8").numpy(np.clip(whole, -SIZE, SIZE))

        return self._either(y, quantised, x, margin), step

    def _either(self, name: str, quantised: Callable[[Array], Array], x: Array, margin: Array | np.float32) -> Array:
        with np.errstate(all="ignore"):
            own, *ends = (quantised(moved) for moved in (x, x - margin, x + margin))
        chosen = self.choose(name, own, np.minimum(*ends), np.maximum(*ends))
        self.turned += int(np.count_nonzero(chosen != own))
        return chosen


def as_made_by(lowered: Graph, layers: Mapping[str, Array], meaning: Graph) -> Choose:
    """The roundings of a program that has these tensors, where they are right."""
    makers = {scale: name for name, scale in _scales(lowered)}
    renamed = {name: makers.get(scale, name) for name, scale in _scales(meaning)}

    def choose(name: str, own: Array, low: Array, high: Array) -> Array:
        made = layers.get(name, layers.get(renamed.get(name, name)))
        if made is None or made.size != own.size or made.dtype != own.dtype:
            return own
        return np.clip(in_order(made, own), low, high)

    return choose


def _scales(graph: Graph) -> list[tuple[str, str]]:
    """Tensors that are quantised by their range, and their scales."""
    return [(node.outputs[0], node.outputs[1]) for node in graph.nodes if isinstance(node.op, BY_RANGE)]


def in_order(made: Array, like: Array) -> Array:
    """A program may have axes in another order: the one that comes nearest."""
    if made.ndim != like.ndim:
        return made.reshape(like.shape)
    turned = (made.transpose(order) for order in permutations(range(made.ndim)))
    fitting = [one for one in turned if one.shape == like.shape]
    return min(fitting, key=lambda one: np.count_nonzero(one != like), default=like)


def at_random(seed: int) -> Choose:
    """Any of the roundings that are right."""
    rng = np.random.default_rng(seed)

    def choose(name: str, own: Array, low: Array, high: Array) -> Array:
        return np.where(rng.random(own.shape) < 0.5, low, high)

    return choose


def spread(graph: Graph, feeds: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """How far the results of a graph move where roundings that are open are made at random: the most in some tries.

    A margin as wide as the tolerance would turn bytes that nobody turns, and hide faults. 0 where results move so far
    that nothing could be told from it.
    """
    plain = Rounded(graph, lambda name, own, low, high: own, 0.0).computed(feeds)
    margin = min(tolerance, OTHERS)
    tries = [Rounded(graph, at_random(seed), margin).computed(feeds) for seed in range(TRIES)]
    far = {name: max(_distance(one[name], plain[name]) for one in tries) for name in graph.outputs}
    return {name: 0.0 if far[name] > _most(plain[name]) else far[name] for name in graph.outputs}


def _most(wanted: Array) -> float:
    """Numbers with a scale may move a little; indices, counts and truths are right or wrong."""
    has_scale = wanted.dtype.kind == "f" or wanted.dtype.name in NARROW
    return MOST * float(np.abs(wanted.astype(np.float64)).max(initial=0.0)) if has_scale else 0.0


def _distance(found: Array, wanted: Array) -> float:
    far = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float(far.max()) if far.size and np.isfinite(far).all() else 0.0
