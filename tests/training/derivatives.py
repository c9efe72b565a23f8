"""Rules for gradients against differences of the operator's own definition, in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.double import evaluated
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, type_of
from tilewright.ops.mul import Mul
from tilewright.ops.reducesum import ReduceSum
from tilewright.training.differentiate import gradients

STEP = 1e-5


def graph_of(op: Op, arrays: Sequence[Array | None], wanted: Sequence[int], result: int = 0) -> tuple[Graph, list[str]]:
    """The sum of results times numbers drawn by chance, and its gradients: their tensors."""
    builder = Builder("derivative")
    names = ["" if array is None else f"x{place}" for place, array in enumerate(arrays)]
    for place, array in enumerate(arrays):
        if array is not None:
            known = place not in wanted
            builder.input(names[place], type_of(array)) if not known else _constant(builder, names[place], array)
    count = len(op.result_names(9)) if not op.results[-1].endswith("*") else 1
    made = builder.add(op, names, [f"y{place}" for place in range(count)], "tested")
    y = made[result]
    shape = builder.types[y].shape
    weights = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    (product,) = builder(Mul(), [y, builder.constant(weights)])
    (loss,) = builder(ReduceSum(tuple(range(len(shape))), False), [product]) if shape else (product,)
    found = gradients(builder, loss, [names[place] for place in wanted])
    builder.output(loss, "loss")
    for place in wanted:
        builder.output(found[names[place]], f"by_{place}")
    return builder.build(), [found[names[place]] for place in wanted]


def _constant(builder: Builder, name: str, array: Array) -> None:
    builder.types[name] = type_of(array)
    builder.constants[name] = array


def check(op: Op, arrays: Sequence[Array | None], wanted: Sequence[int] | None = None, tolerance: float = 2e-6) -> None:
    """The gradient by each operand, along directions drawn by chance, is the quotient of differences."""
    if wanted is None:
        wanted = [place for place, array in enumerate(arrays) if array is not None and array.dtype == np.float32]
    graph, tensors = graph_of(op, arrays, wanted)
    given = {f"x{place}": arrays[place].astype(np.float64) for place in wanted}  # type: ignore[union-attr]
    values = evaluated(graph, given)
    random = np.random.default_rng(11)
    for place, tensor in zip(wanted, tensors, strict=True):
        gradient, point = values[tensor], given[f"x{place}"]
        assert gradient.shape == point.shape
        for _ in range(2):
            way = random.normal(size=point.shape)
            moved = [{**given, f"x{place}": point + sign * STEP * way} for sign in (1, -1)]
            sides = [evaluated(graph, at)[graph.outputs[0]] for at in moved]
            expected = float((sides[0] - sides[1]).sum()) / (2 * STEP)
            found = float((gradient * way).sum())
            scale = max(abs(expected), float(np.abs(gradient * way).sum()), 1e-3)
            assert abs(found - expected) <= tolerance * scale, f"{op} by operand {place}: {found} is not {expected}"
