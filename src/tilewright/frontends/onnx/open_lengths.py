"""Tensors of which only the data knows how many rows there are: they have room for the most, and rows of 0 or of no
meaning behind. What works row by row may read them, and what adds rows to places of a tensor; the model's caller is
told how many rows count."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import onnx

from tilewright.errors import Refusal
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.graph import Builder
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Array, Shape
from tilewright.ops._compaction import zeros_behind
from tilewright.ops._compose import Compose
from tilewright.records import dataclass

DATA_SIZED = {"NonZero": {0: 1}, "Compress": {0: 0}, "Unique": {0: 0, 1: 0, 3: 0}}
"""Operators of which data says how many rows they give: results -> the axis of rows, unless an attribute says it. The
number of rows comes behind their results."""

ELEMENTWISE = frozenset({
    "Abs", "Cast", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity",
    "LeakyRelu", "Log", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus",
    "Sqrt", "Tan", "Tanh",
})  # fmt: skip
"""Of one operand: every row of the result is one of the operand."""

PAIRWISE = frozenset({
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Or",
    "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
})  # fmt: skip
"""Of several operands: the same row of each, or one that belongs to all rows."""

PRODUCTS = frozenset({"Gemm", "MatMul"})
"""Every row times a matrix."""

WITHIN_ROWS = frozenset({"LayerNormalization", "LogSoftmax", "Softmax"})
"""Along axes behind that of the rows."""

SUMS = frozenset({"ScatterElements", "ScatterND"})
"""They add rows to others, if they reduce by "add"; rows that are not there count as 0."""
UPDATES = 2
"""The operand of these that has the rows."""

MOVING = frozenset({"Concat", "Gather", "GatherND", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"})
"""Of which attributes and known operands say where rows go."""

HINT = "such tensors may only be outputs of the model, or go through what works row by row: export it up to there"


@dataclass(frozen=True)
class OpenLength:
    axis: int
    """Along which the rows lie."""
    says: str = ""
    """What to say of an output, where there is no count."""
    count: str = ""
    """The graph's tensor that says how many rows there are."""


def made_by(node: onnx.NodeProto, ranks: Sequence[int], count: str) -> dict[str, OpenLength]:
    """Of the results of an operator that data gives its size, which have these numbers of axes."""
    said = [item.i for item in node.attribute if item.name == "axis"]
    results = [(at, axis) for at, axis in DATA_SIZED[node.op_type].items() if at < len(ranks) and node.output[at]]
    return {node.output[at]: OpenLength((said or [axis])[0] % ranks[at], count=count) for at, axis in results}


def refuse_any(results: Iterable[str], lengths: Mapping[str, OpenLength]) -> None:
    """Bodies of control flow give no such tensors: behind them nothing would know that the length is open."""
    for name in results:
        if name in lengths:
            raise Refusal(f"its body gives '{name}', of which only the data knows how many rows there are", HINT)


def declare_counts(builder: Builder, outputs: Mapping[str, str], lengths: Mapping[str, OpenLength]) -> None:
    """Behind the model's outputs, how many rows there are of those with an open length: their names -> tensors."""
    counts = dict[str, str]()
    for name, tensor in outputs.items():
        length = lengths[name]
        if not length.count:
            builder.notes.append(f"output '{name}': {length.says}")
            continue
        if length.count not in counts:
            counts[length.count] = _free_name(builder, f"{name}_count")
            builder.output(length.count, counts[length.count])
        room = f"has room for {builder.types[tensor].shape[length.axis]} along axis {length.axis}"
        says = f"of which output '{counts[length.count]}' says how many there are"
        builder.notes.append(f"output '{name}': {room}, {says}")


def _free_name(builder: Builder, wanted: str) -> str:
    while wanted in builder.output_names:
        wanted += "_"
    return wanted


@dataclass(frozen=True)
class Operands:
    """What a node reads, of which at least one has an open length."""

    lengths: tuple[OpenLength | None, ...]
    shapes: tuple[Shape, ...]
    """Of what is not there none."""
    constants: Mapping[str, Array]

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Numbers of axes."""
        return tuple(map(len, self.shapes))


def behind(node: onnx.NodeProto, given: Operands) -> OpenLength:
    """Of the results of a node that reads such tensors; a `Refusal` where it does not work row by row."""
    position, length = next((at, length) for at, length in enumerate(given.lengths) if length is not None)
    others = given.lengths[position + 1 :]
    is_alone = set(given.lengths) == {length} if node.op_type == "Concat" else not any(others)
    is_alone = is_alone or node.op_type in PAIRWISE
    # Without a count only zeros tell rows that are not there from others: nothing may change them.
    is_told = bool(length.count) or node.op_type == "Identity"
    axis = _axis_behind(node, position, length.axis, given) if is_alone and is_told else None
    if axis is None:
        name = node.input[position]
        does = "carries" if node.op_type in ("Loop", "Scan") else "reads"
        raise Refusal(f"{does} '{name}', of which only the data knows how many rows there are", HINT)
    return replace(length, axis=axis)


def _axis_behind(node: onnx.NodeProto, position: int, axis: int, given: Operands) -> int | None:
    """Where the rows lie behind a node; None where it mixes them."""
    kind, rank = node.op_type, given.ranks[position]
    if kind in ELEMENTWISE:
        return axis
    if kind == "Reshape":
        return _reshaped(node, position, rank, given)
    if kind in PAIRWISE:
        return _paired(given, axis - rank)
    if kind not in PRODUCTS | WITHIN_ROWS | MOVING:
        return None
    found = onnx_file.attributes(node)
    if kind in PRODUCTS:
        return axis if position == 0 and _is_product_of_rows(found, axis, given) else None
    if kind in WITHIN_ROWS:
        return axis if position == 0 and axis < found.get("axis", -1 if rank == 2 else 0) % rank else None
    if kind == "Transpose":
        return list(found.get("perm", range(rank)[::-1])).index(axis)
    if kind == "Gather" and given.ranks[0]:
        return _gathered(node, position, axis, found.get("axis", 0) % given.ranks[0], given)
    if kind == "GatherND" and position == 1 and not found.get("batch_dims", 0):
        return axis if axis < rank - 1 else None
    if kind in ("Split", "Concat") and position == 0:
        return axis if found.get("axis", 0) % rank != axis else None
    if kind == "Slice" and position == 0:
        axes = given.constants.get(node.input[3]) if len(node.input) > 3 else None
        return None if axes is None or axis in {int(one) % rank for one in axes} else axis
    if kind in ("Squeeze", "Unsqueeze") and position == 0:
        axes = found.get("axes", given.constants.get(node.input[1]) if len(node.input) > 1 else None)
        return None if axes is None else _renumbered(kind, axis, rank, [int(one) for one in axes])
    return None


def _paired(given: Operands, from_end: int) -> int | None:
    """Of operands that are repeated along axes of one element; axes are counted from the last one."""
    first = next(length for length in given.lengths if length is not None)
    for length, shape in zip(given.lengths, given.shapes, strict=True):
        is_of_all_rows = length is None and (len(shape) < -from_end or shape[from_end] == 1)
        if not is_of_all_rows and (
            length is None or (length.count, length.axis - len(shape)) != (first.count, from_end)
        ):
            return None
    return max(given.ranks) + from_end


def _is_product_of_rows(found: Mapping[str, object], axis: int, given: Operands) -> bool:
    """Whether each row of the first operand is multiplied by itself; what is added to it belongs to all rows."""
    added = given.shapes[2] if len(given.shapes) > 2 else ()
    is_added_to_all = len(added) < 2 or added[0] == 1
    return axis < given.ranks[0] - 1 and given.ranks[1] == 2 and not found.get("transA", 0) and is_added_to_all


def is_sum_of_rows(node: onnx.NodeProto, lengths: Sequence[OpenLength | None], tensors: Container[str]) -> bool:
    """Whether rows that are counted by one of these tensors are added to those of a tensor of a known size."""
    if node.op_type not in SUMS or onnx_file.attributes(node).get("reduction", "none") != "add":
        return False
    x, indices, updates = lengths
    if x is not None or indices is None or updates is None:
        return False
    is_one = (indices.count, indices.axis) == (updates.count, updates.axis)
    return indices.count in tensors and is_one and (node.op_type == "ScatterElements" or indices.axis == 0)


def without_rows_behind(node: OnnxNode, length: OpenLength, builder: Builder) -> OnnxNode:
    """A sum of rows, to which those that are not there add nothing."""
    updates = zeros_behind(Compose(node, builder), node.inputs[UPDATES], length.axis, length.count)
    return replace(node, inputs=(*node.inputs[:UPDATES], updates))


def _reshaped(node: onnx.NodeProto, position: int, rank: int, given: Operands) -> int | None:
    """Rows of one element remain what they are; PyTorch's exporter writes that."""
    sizes = given.constants.get(node.input[1])
    return 0 if position == 0 and rank == 1 and sizes is not None and sizes.tolist() == [-1] else None


def _gathered(node: onnx.NodeProto, position: int, axis: int, along: int, given: Operands) -> int | None:
    """Behind a Gather: of rows that indices name, or of known parts of every row."""
    if position == 1:
        return along + axis
    indices = given.constants.get(node.input[1])
    if indices is None or along == axis:
        return None
    return axis if axis < along else axis + indices.ndim - 1


def _renumbered(kind: str, axis: int, rank: int, axes: list[int]) -> int | None:
    if kind == "Squeeze":
        gone = {one % rank for one in axes}
        return None if axis in gone else axis - sum(one < axis for one in gone)
    whole = rank + len(axes)
    added = {one % whole for one in axes}
    return [one for one in range(whole) if one not in added][axis]
