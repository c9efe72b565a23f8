from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compaction import chosen_positions, zeros_behind
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops.and_ import And
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.cumsum import CumSum
from tilewright.ops.equal import Equal
from tilewright.ops.gather import Gather
from tilewright.ops.isnan import IsNaN
from tilewright.ops.less import Less
from tilewright.ops.not_ import Not
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.topk import TopK
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class Unique(Op):
    """The different elements, or slices along an axis, where each is first, which of them every element is, and how
    often each is there; and how many there are, with zeros behind. Elements in ascending order become a sort and a
    scatter, others are compared in pairs."""

    results: ClassVar[tuple[str, ...]] = ("Y", "indices", "inverse", "counts")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, size = Compose(node, emit), node.type(0).elements
        if not size:
            raise Refusal("a tensor without elements is not supported", "give it one or more")
        axis, is_sorted = node.attribute("axis", None), bool(node.attribute("sorted", 1))
        if axis is not None or not is_sorted:
            return _compared(make, axis, is_sorted)
        x, dtype = make.reshape(node.inputs[0], (size,)), node.type(0).dtype
        x = make.cast(x, "int32") if dtype == "bool" else x
        ordered, places = emit(TopK(size, 0, largest=False), [x], [emit.fresh(f"{node.name}_{i}") for i in range(2)])
        is_new = _differs_from_the_one_before(make, ordered)
        positions, count = chosen_positions(make, is_new, _room(node, 0, size))
        found = [zeros_behind(make, make(Gather(0), one, positions), 0, count) for one in (ordered, places)]
        ones = make.cast(is_new, "int32")
        group = make.sub(make(CumSum(0), ones), make.like(1, ones))
        empty = make.constant(np.zeros(size, np.int64), "empty")
        inverse = make(ScatterElements(), empty, places, make.cast(group, "int64"))
        each = make.constant(np.ones(size, np.int64), "each")
        counts = make.part(make(ScatterElements("add"), empty, group, each), 0, 0, make.shape(positions)[0])
        return [*make.give(make.cast(found[0], dtype), found[1], inverse, counts), count]


def _differs_from_the_one_before(make: Compose, ordered: str) -> str:
    (size,) = make.shape(ordered)
    same = make(Equal(), make.part(ordered, 0, 1, size), make.part(ordered, 0, 0, size - 1))
    first = make.constant(np.ones(1, np.bool_), "first")
    return make.join(0, first, make(Not(), same)) if size > 1 else first


def _room(node: OnnxNode, axis: int, size: int) -> int:
    """As many as the model declares, or all that there may be."""
    declared = node.declared[0] if node.declared else None
    return declared[axis] if declared is not None else size


def _compared(make: Compose, along: int | None, is_sorted: bool) -> Sequence[str]:
    """Every slice with every other one: a group's number is how many first ones come before."""
    node = make.node
    shape = make.shape(node.inputs[0]) if along is not None else (make.kind(node.inputs[0]).elements,)
    x, axis = make.reshape(node.inputs[0], shape), (along or 0) % len(shape)
    size, rest = shape[axis], [at for at in range(len(shape)) if at != axis]
    width = math.prod(shape[at] for at in rest)
    refuse_large("the pairs of its slices", size, size, width)
    rows = _comparable(make, make.reshape(make.transpose(x, (axis, *rest)), (size, width)))
    column, row = (make.reshape(rows, (*ends, make.shape(rows)[1])) for ends in ((size, 1), (1, size)))
    differs = make.cast(make(Not(), make(Equal(), column, row)), "int32")
    apart = make(ReduceMax((2,), False), differs)
    numbers = make.constant(np.arange(size, dtype=np.int32), "numbers")
    first = make.cast(make(ArgMin(1, False), apart), "int32")
    is_first = make.cast(make(Equal(), first, numbers), "int32")
    if is_sorted:
        is_equal_before = make(Equal(), make(CumSum(2, exclusive=True), differs), make.like(0, differs))
        is_less = make(And(), make(Less(), column, row), is_equal_before)
        is_before = make(ReduceMax((2,), False), make.cast(is_less, "int32"))
        group = make(ReduceSum((0,), False), make.mul(is_before, make.reshape(is_first, (size, 1))))
    else:
        group = make(Gather(0), make(CumSum(0, exclusive=True), is_first), first)
    room = min(_room(node, axis, size), size)
    is_one = make(Equal(), group, make.constant(np.arange(room, dtype=np.int32).reshape(room, 1), "groups"))
    indices = make(ArgMax(1, False), make.cast(is_one, "int32"))
    counts = make.cast(make(ReduceSum((1,), False), make.cast(is_one, "int32")), "int64")
    count = make.cast(make(ReduceSum((0,), True), is_first), "int64")
    found = zeros_behind(make, make(Gather(axis), x, indices), axis, count)
    return [*make.give(found, indices, make.cast(group, "int64"), counts), count]


def _comparable(make: Compose, rows: str) -> str:
    """As numbers that equal themselves. A row with NaN differs from all others: its own number stands before what else
    is in it, so that it comes behind all rows without."""
    kind = make.kind(rows)
    if kind.dtype == "bool":
        return make.cast(rows, "int32")
    if kind.element.kind != "f":
        return rows
    is_nan, size = make(IsNaN(), rows), kind.shape[0]
    has_nan = make(ReduceMax((1,), True), make.cast(is_nan, kind.dtype))
    numbers = make.constant(np.arange(1, size + 1, dtype=kind.element).reshape(size, 1), "numbers")
    zeros = make.constant(np.zeros(kind.shape, kind.element), "zeros")
    return make.join(1, make.mul(has_nan, numbers), make(Where(), is_nan, zeros, rows))
