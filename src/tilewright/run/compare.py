"""When two results agree: integers to the bit, floats relative to their scale, quantised values within one step.

docs/agreement.md states the rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, as_computed
from tilewright.ops.dequant import Dequant
from tilewright.records import dataclass

DEFAULT_TOLERANCE = 1e-4
TINY = 1e-30
ROUNDED = 1e-5
"""The difference of two neighbouring steps is rounded to float32, hence a little more than a step."""
LAST_BIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The last bit of short floats, relative to their size: two results that round to neighbours agree."""
IN_16_BITS = {"float16": 2e-2, "bfloat16": 0.16}
"""Of an output's largest value: what storing layers in 16 bits may change in all of a network."""
QUANTISED = frozenset({"QuantizeLinear", "DequantizeLinear"})
GENTLE = frozenset({
    "AveragePool", "Clip", "GlobalAveragePool", "HardSigmoid", "MaxPool", "ReduceMax", "ReduceMean", "Relu", "Sigmoid",
    "Slice", "Softmax", "Tanh", "Transpose",
})  # fmt: skip
"""Operators whose result moves no further than their operand does."""
QUANTISERS = frozenset({"Quant", "QuantizeLinear"})
EXACT = frozenset({
    "Cast", "Clip", "Concat", "Dequant", "DequantizeLinear", "Gather", "Identity", "Max", "MaxPool", "Min", "Pad",
    "ReduceMax", "ReduceMin", "Relu", "Slice", "Transpose",
})  # fmt: skip
"""Operators that give the same floats to the bit wherever they are computed."""
Floor = Callable[[str], float]
"""Tensor -> the error that float32 rounding alone may make in it (`rounding.py`)."""
NARROW = frozenset({"int8", "uint8", "int16", "uint16"})


@dataclass(frozen=True)
class Agreement:
    """How one output compares with what was expected."""

    name: str
    elements: int
    mismatches: int
    max_abs_error: float
    """Infinite if only one of both is a number, or if the shapes differ."""
    allowed: float
    """The largest difference that counts as equal."""
    remark: str = ""
    relative: float = 0.0
    """Of `allowed`, what the tolerance is of the output's scale."""
    floor: float | None = None
    """Of `allowed`, what float32 rounding in the last operators does; None if it was not needed."""
    turned: int | None = None
    """Elements next to a tie that were rounded at run time, unlike in the reference; None if it was not needed."""
    spread: float | None = None
    """Of `allowed`, what such roundings do to results of others, whose bytes are not known; None likewise."""
    layers: int | None = None
    """Tensors of 16 bits, and those computed from them, that were compared one by one; None likewise."""

    @property
    def agrees(self) -> bool:
        return self.mismatches == 0 and not self.remark

    def as_dict(self) -> dict[str, Any]:
        error = self.max_abs_error if math.isfinite(self.max_abs_error) else None
        found = {"name": self.name, "elements": self.elements, "mismatches": self.mismatches, "max_abs_error": error}
        limits = {"allowed": self.allowed, "relative": self.relative, "floor": self.floor}
        more = {
            name: value
            for name, value in (("turned", self.turned), ("spread", self.spread), ("layers", self.layers))
            if value is not None
        }
        return found | limits | more | ({"remark": self.remark} if self.remark else {})


def compare(
    name: str, found: Array, wanted: Array, tolerance: float = DEFAULT_TOLERANCE, step: float = 0.0,
    floor: Floor | None = None,
) -> Agreement:  # fmt: skip
    """Compare by value, whatever type the expectation is stored in; a difference of up to `step` is allowed anyway.

    The floor is asked for only where floats differ by more than is allowed without it.
    """
    if found.shape != wanted.shape:
        remark = f"shape {found.shape}, expected {wanted.shape}"
        return Agreement(name, found.size, found.size, math.inf, 0.0, remark)
    tolerance = max(tolerance, LAST_BIT.get(found.dtype.name, 0.0))
    found, wanted = as_computed(found), as_computed(wanted)
    relative = _relative(wanted, tolerance) if found.dtype.kind == "f" else 0.0
    error = _errors(found, wanted)
    worst = float(error.max()) if error.size else 0.0
    needed = floor is not None and found.dtype.kind == "f" and tolerance > 0 and worst > max(relative, step)
    least = floor(name) if floor is not None and needed else None
    allowed = max(relative, step, least or 0.0)
    mismatches = int(np.count_nonzero(~(error <= allowed)))
    return Agreement(name, found.size, mismatches, worst, allowed, relative=relative, floor=least)


def compare_all(
    found: Mapping[str, Array], wanted: Mapping[str, Array], steps: Mapping[str, float], tolerance: float,
    floor: Floor | None = None,
) -> tuple[Agreement, ...]:  # fmt: skip
    return tuple(compare(name, found[name], wanted[name], tolerance, steps.get(name, 0.0), floor) for name in found)


def quantisation_steps(graph: Graph) -> dict[str, float]:
    """Tensor -> the value of one quantisation step, where a float graph was quantised.

    Fixed-point requantisation is within one step of the float arithmetic that such a graph describes.
    """
    return steps_of(graph) if any(node.op.kind in QUANTISED for node in graph.nodes) else {}


def rounding_steps(graph: Graph) -> dict[str, float]:
    """Tensor -> one quantisation step, where floats that were computed are rounded to integers on the way to it.

    Two ways to compute a float differ in its last bit, and a value between two steps may then go to either.
    """
    computed, unsure = set[str](), set[str]()
    for _ in range(1 + len(graph.states)):  # a state brings it from one call to the next
        _follow(graph, computed, unsure)
        for state in graph.states:
            computed |= {state.before} if state.after in computed else set()
            unsure |= {state.before} if state.after in unsure else set()
    return {name: step for name, step in steps_of(graph).items() if name in unsure} if unsure else {}


def _follow(graph: Graph, computed: set[str], unsure: set[str]) -> None:
    for node in graph.nodes:
        rounded = node.op.kind in QUANTISERS and node.inputs[0] in computed
        if rounded or any(name in unsure for name in node.inputs):
            unsure.update(node.outputs)
        elif any(name in computed for name in node.inputs) or computes_floats(graph, node):
            computed.update(node.outputs)


def computes_floats(graph: Graph, node: Node) -> bool:
    """Whether the result is a float whose last bit depends on who computes it."""
    return graph.types[node.key].dtype == "float32" and not node.op.view and node.op.kind not in EXACT


def steps_of(graph: Graph) -> dict[str, float]:
    """Tensor -> the value of one quantisation step, where it has one."""
    steps = {name: 1.0 for name, kind in graph.types.items() if kind.dtype in NARROW and name not in graph.constants}
    for node in graph.nodes:
        if node.op.kind == "DequantizeLinear":
            steps[node.key] = _scale(graph, node.inputs[1])
        elif isinstance(node.op, Dequant):
            steps[node.key] = node.op.scale * (1 + ROUNDED)
        elif (node.op.view or node.op.kind in GENTLE) and node.inputs[0] in steps:
            steps[node.key] = steps[node.inputs[0]]
    for node in graph.nodes:
        if node.op.kind == "QuantizeLinear":
            steps[node.inputs[0]] = max(steps.get(node.inputs[0], 0.0), _scale(graph, node.inputs[1]))
    return steps


def _scale(graph: Graph, tensor: str) -> float:
    values = graph.constants.get(tensor)
    return 0.0 if values is None or not values.size else float(np.abs(values).max()) * (1 + ROUNDED)


def _relative(wanted: Array, tolerance: float) -> float:
    return tolerance * max(largest_of(wanted), TINY)


def largest_of(array: Array) -> float:
    """The size of the largest number."""
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind == "f" else np.abs(array)
    return float(finite.max()) if finite.size else 0.0


def _errors(found: Array, wanted: Array) -> Array:
    """Absolute differences; equal infinities and two NaNs count as no difference, a NaN alone as an infinite one."""
    if found.dtype.kind != "f" and wanted.dtype.kind != "f":
        return _integer_errors(found, wanted)
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(left - right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def _integer_errors(found: Array, wanted: Array) -> Array:
    """Exact also where 64-bit integers are too large for a float."""
    same = found == wanted
    error = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return np.where(same, 0.0, np.maximum(error, 1.0))
