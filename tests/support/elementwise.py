"""One or more instances of every elementwise operator, and operands for them with the values that hurt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.checks import Case
from tilewright import ops
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, COMPUTED, Array, Shape, limits
from tilewright.ops._elementwise import Elementwise
from tilewright.targets.generic.elementwise import KERNELS

ATTRIBUTES: dict[str, list[dict[str, object]]] = {
    "Add": [{}, {"wide": True}],
    "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}],
    "Celu": [{"alpha": 1.5}],
    "Clip": [{}, {"low": -1.0}, {"high": 2.5}, {"low": 3, "high": 1}, {"low": -2, "high": 2}],
    "Div": [{}, {"wide": True}],
    "Elu": [{"alpha": 0.7}],
    "Gelu": [{}, {"approximate": "tanh"}],
    "HardSigmoid": [{}, {"alpha": 0.5, "beta": 0.1}],
    "Identity": [{"copy": True}],
    "IsInf": [{}, {"detect_negative": 0}, {"detect_positive": 0}],
    "LeakyRelu": [{"alpha": 0.2}],
    "Mod": [{}, {"fmod": 1}],
    "Mul": [{}, {"wide": True}],
    "Selu": [{}, {"alpha": 2.0, "gamma": 3.0}],
    "Shrink": [{}, {"lambd": 1.5, "bias": 0.5}],
    "Sub": [{}, {"wide": True}],
    "Swish": [{}, {"alpha": 0.5}],
    "ThresholdedRelu": [{"alpha": 0.8}],
}
"""Attributes that the instances have; one without any where nothing is said."""


NATIVE = tuple(dtype for dtype in BYTES if dtype in COMPUTED)
"""Element types that are computed with."""


def kinds() -> list[str]:
    """Operators that have a kernel of this family; the others are shorthand for these."""
    return sorted({kernel.op.__name__ for kernel in KERNELS})


def instances(kind: str, dtype: str, targets: Sequence[str] = NATIVE) -> list[Op]:
    """The operator with each set of attributes that fits operands of an element type."""
    found = ops.find(kind)
    assert found is not None
    if kind in ("Cast", "BitCast"):
        same_size = [to for to in targets if kind == "Cast" or (BYTES[to] == BYTES[dtype] and to != "bool")]
        return [found(to) for to in same_size]
    sets = [values for values in ATTRIBUTES.get(kind, [{}]) if not (dtype == "float32" and values.get("wide"))]
    return [found(**values) for values in sets]


def dtypes(kind: str) -> list[str]:
    """Element types that an operator takes."""
    found = ops.find(kind)
    assert found is not None
    assert issubclass(found, Elementwise)
    return [dtype for dtype in NATIVE if found.accepts is None or dtype in found.accepts]


def operands(op: Op, dtype: str, shapes: Sequence[Shape], random: np.random.Generator) -> list[Array]:
    """Values for an operator; a power stays small enough for float32 and for bit-exact whole results."""
    arrays = [values(dtype, shape, random) for shape in shapes]
    if op.kind == "Where":
        arrays[0] = values("bool", shapes[0], random)
    if op.kind == "Pow":
        arrays = [np.clip(a, 0 if dtype.startswith("u") else -4, 5).astype(dtype) for a in arrays]
    return arrays


def values(dtype: str, shape: Shape, random: np.random.Generator) -> Array:
    """Small numbers, numbers from the whole range, and the range's ends."""
    if dtype == "float32":
        return np.asarray(random.standard_normal(shape) * 3).astype(np.float32)
    if dtype == "bool":
        return np.asarray(random.integers(0, 2, shape)).astype(bool)
    low, high = limits(dtype)
    small = np.asarray(random.integers(max(low, -3), 4, shape)).astype(dtype)
    anything = np.asarray(random.integers(low, high, shape, dtype=dtype, endpoint=True))
    ends = np.asarray(random.choice(np.asarray([low, high], dtype), shape))
    choice = random.integers(0, 3, shape)
    return np.asarray(np.where(choice == 0, small, np.where(choice == 1, anything, ends)), dtype)


@st.composite
def cases(draw: Callable[[st.SearchStrategy[Any]], Any], kind: str) -> Case:
    """An operator on operands that broadcast together."""
    dtype = draw(st.sampled_from(dtypes(kind)))
    op = draw(st.sampled_from(instances(kind, dtype)))
    result = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    shapes = [draw(_operand_shapes(result)) for _ in op.operands]
    if kind == "PRelu":  # its slope broadcasts to X, not the other way round
        shapes[0] = result
    return op, operands(op, dtype, shapes, np.random.default_rng(draw(st.integers(0, 2**32))))


@st.composite
def _operand_shapes(draw: Callable[[st.SearchStrategy[Any]], Any], result: Shape) -> Shape:
    """A shape that broadcasts to the result's: some axes of one, leading axes left out."""
    sizes = tuple(draw(st.sampled_from((1, size))) for size in result)
    return sizes[draw(st.integers(0, len(result))) :]
