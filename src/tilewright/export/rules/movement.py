"""Operators that move elements: what they have as fields, ONNX mostly takes as constant inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import attributes_of, rule
from tilewright.export.rules.elementwise import type_code
from tilewright.export.writer import NodeWriter
from tilewright.ir.types import limits
from tilewright.ops.cumprod import CumProd
from tilewright.ops.cumsum import CumSum
from tilewright.ops.expand import Expand
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gridsample import GridSample
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.reshape import Reshape
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice
from tilewright.ops.topk import TopK
from tilewright.ops.trilu import Trilu


@rule(Reshape)
def reshape(to: NodeWriter, op: Reshape) -> None:
    # Only where it is needed: with it, a size of 0 is one, and not the size that was there before.
    zero: dict[str, Any] = {"allowzero": 1} if 0 in op.shape else {}
    to.end("Reshape", [to.operand("X"), to.integers(op.shape, "shape")], **zero)


@rule(Expand)
def expand(to: NodeWriter, op: Expand) -> None:
    to.end("Expand", [to.operand("X"), to.integers(op.shape, "shape")])


@rule(Slice)
def slice_(to: NodeWriter, op: Slice) -> None:
    walk = list(zip(op.starts, op.steps, op.sizes, to.shape("X"), strict=True))
    axes = [axis for axis, (_, step, size, length) in enumerate(walk) if size != length or step != 1] or [0]
    starts = [walk[axis][0] if walk[axis][2] else 0 for axis in axes]
    ends = [_end(*walk[axis]) for axis in axes]
    values = {"starts": starts, "ends": ends, "axes": axes, "steps": [op.steps[axis] for axis in axes]}
    to.end("Slice", [to.operand("X"), *(to.integers(given, name) for name, given in values.items())])


def _end(start: int, step: int, size: int, length: int) -> int:
    """Behind the last element; before the first one is further from the end than all elements."""
    end = start + step * size if size else 0
    return end if end >= 0 else -length - 1


@rule(Pad)
def pad(to: NodeWriter, op: Pad) -> None:
    value = to.constant(np.asarray(op.value, to.type("X").element), "border")
    to.end("Pad", [to.operand("X"), to.integers(op.pads, "pads"), value])


@rule(OneHot)
def one_hot(to: NodeWriter, op: OneHot) -> None:
    if (op.start, op.length) != (0, op.depth):
        raise Refusal(f"{op.length} of {op.depth} positions from {op.start} on", "export the graph before it is tiled")
    depth = to.constant(np.asarray(op.depth, np.int64), "depth")
    to.end("OneHot", [to.operand("indices"), depth, to.operand("values")], axis=op.axis)


@rule(GatherND, ScatterND)
def by_tuples(to: NodeWriter, op: GatherND | ScatterND) -> None:
    """ONNX has these tuples as int64 alone, unlike the indices of other operators."""
    known = to.value("indices")
    given = to.inputs[1]
    if known is not None:
        given = to.constant(known.astype(np.int64), "indices")
    elif to.type("indices").dtype != "int64":
        given = to.add("Cast", [given], to=type_code("int64"))
    to.end(op.kind, [to.inputs[0], given, *to.inputs[2:]], **attributes_of(op))


@rule(TopK)
def top_k(to: NodeWriter, op: TopK) -> None:
    # Both results have names in ONNX, also where nobody reads one of them.
    outputs = [name or to.to.fresh(f"{to.node.name}_unread") for name in (*to.outputs, "", "")[:2]]
    inputs = [to.operand("X"), to.integers((op.k,), "k")]
    to.end("TopK", inputs, outputs, axis=op.axis, largest=int(op.largest))


@rule(Trilu)
def trilu(to: NodeWriter, op: Trilu) -> None:
    diagonal = to.constant(np.asarray(op.k, np.int64), "diagonal")
    to.end("Trilu", [to.operand("X"), diagonal], upper=int(op.upper))


@rule(CumSum, CumProd)
def accumulated(to: NodeWriter, op: CumSum) -> None:
    axis = to.constant(np.asarray(op.axis, np.int64), "axis")
    to.end(op.kind, [to.operand("X"), axis], exclusive=int(op.exclusive), reverse=int(op.reverse))


@rule(GridSample)
def grid_sample(to: NodeWriter, op: GridSample) -> None:
    to.end("GridSample", to.inputs, mode=op.mode, padding_mode=op.padding, align_corners=int(op.align_corners))


@rule(Lookup)
def lookup(to: NodeWriter, op: Lookup) -> None:
    """A Gather: entry x - lowest of the table or, of one table for each channel, of all in a row."""
    table, rank = to.shape("table"), len(to.shape("X"))
    lowest = limits(to.type("X").dtype)[0]
    firsts = np.zeros((), np.int32)
    values = to.operand("table")
    if len(table) > 1:
        firsts = (np.arange(table[0], dtype=np.int32) * ENTRIES).reshape(-1, *(1,) * (rank - 1 - op.axis))
        values = to.add("Reshape", [values, to.integers((-1,), "shape")])
    wide = to.add("Cast", [to.operand("X")], to=type_code("int32"))
    entries = to.add("Add", [wide, to.constant(np.asarray(firsts - lowest, np.int32), "first")])
    to.end("Gather", [values, entries], axis=0)
