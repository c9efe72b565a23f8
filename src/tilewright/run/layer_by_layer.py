"""Layers of a program in 16 bits, each held to the reference by itself.

Two programs that sum in another order round a result to one of two neighbours in 16 bits, and all that follows moves
with it. So every layer is computed once more from the program's own tensors before it: there nothing has moved yet, and
each element is right within its last bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.ir.evaluate import evaluate_node, initial_states
from tilewright.ir.graph import Graph
from tilewright.ir.half_floats import HALF
from tilewright.ir.types import Array
from tilewright.run.compare import LAST_BIT, Agreement, compare, largest_of
from tilewright.run.rounding import Floors

Arrays = Mapping[str, Array]
BEYOND = {"float16": 2.0**16, "bfloat16": 2.0**128}
"""What would be the number after the largest: those from the middle between them on are infinite."""


def layers_by_themselves(graph: Graph, made: Arrays, feeds: Arrays, tolerance: float) -> Iterator[Agreement]:
    """Every tensor that a program made, in order; `graph` is what it computes."""
    kept = initial_states(graph)
    values: dict[str, Array] = {**graph.constants, **{name: feeds[name] for name in graph.inputs}}
    values |= {state.before: kept[state.name] for state in graph.states}
    floors = Floors(graph, lambda: values, False)
    for node in graph.nodes:
        wanted = dict(zip(node.outputs, evaluate_node(graph, node, values), strict=False))
        values |= {name: made.get(name, array) for name, array in wanted.items() if name}
        for name in filter(made.__contains__, node.outputs):
            if graph.types[name].dtype in HALF:
                yield _compared(name, made[name], wanted[name], tolerance)
            else:
                yield compare(name, made[name], wanted[name], tolerance, 0.0, floors)


def _compared(name: str, found: Array, wanted: Array, tolerance: float) -> Agreement:
    """Elements may differ by a last bit of their own, or by what float32 sums may differ."""
    one, other = (_numbers(array) for array in (found, wanted))
    unlike = np.isnan(one) != np.isnan(other)
    error = np.where(unlike, np.inf, np.nan_to_num(np.abs(one - other)))
    relative = tolerance * largest_of(other)
    allowed = LAST_BIT[found.dtype.name] * np.abs(np.nan_to_num(other)) + relative
    most = float(allowed.max(initial=0.0))
    return Agreement(
        name, found.size, int(np.count_nonzero(error > allowed)), float(error.max(initial=0.0)), most, relative=relative
    )


def _numbers(array: Array) -> Array:
    wide = array.astype(np.float64)
    return np.where(np.isinf(wide), np.copysign(BEYOND[array.dtype.name], wide), wide)
