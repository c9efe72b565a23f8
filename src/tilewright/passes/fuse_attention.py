"""Attention becomes one operator that never stores its scores, with tokens first and heads that share keys as they are.

Transpositions of queries, keys, values and results, and copies of shared heads, are left out where they can be; what
works on each element or row in between is computed with tokens first instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Shape, TensorType
from tilewright.ops._masked_attention import MaskedAttention
from tilewright.ops.expand import Expand
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.lookup import Lookup
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.patterns.attention import Written, written_attention
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

Takes = Callable[[Op, Mapping[str, TensorType]], bool]
"""Whether a target computes an operator with operands and results of these types better than its parts."""

HEADS_FIRST = (0, 2, 1, 3)
TURNED = (0, 3, 1, 2)
"""From [batch, head, channel, token] to tokens first."""
ADDED = -1
"""An axis of one that a tensor does not have."""


def unmasked(op: Op, types: Mapping[str, TensorType]) -> bool:
    """What is taken where no kernel reads a mask as an operand."""
    return not isinstance(op, MaskedAttention)


def fuse_attention(takes: Takes) -> Pass:
    """For a target with such kernels."""
    return Pass("attention as one operator", partial(run, takes), ensures=partial(all_fused, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    return rewrite(graph, _Fusing(graph, takes).change)


def all_fused(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _found(graph, takes, node) is not None:
            yield node.where, "ends an attention that one operator could compute"


# ---- where operands come from -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """An operand as [batch, token, head, channel]: these axes of a tensor, and then some nodes on it."""

    tensor: str
    axes: Shape
    shape: Shape
    again: tuple[tuple[Node, Shape], ...] = ()
    """Nodes to compute with tokens first, the first one first, each with the axes of what it was given."""


def origin(graph: Graph, tensor: str, turned: bool = False) -> Origin:
    """As far back as transpositions and copies of shared heads go."""
    axes: Shape = TURNED if turned else HEADS_FIRST
    if len(graph.types[tensor].shape) == 3:
        axes = tuple(axis - 1 if axis else ADDED for axis in axes)
    found = Origin(tensor, axes, _seen_shape(graph, tensor, axes))
    while (earlier := _earlier(graph, found)) is not None:
        found = earlier
    return found


def _seen_shape(graph: Graph, tensor: str, axes: Shape) -> Shape:
    shape = graph.types[tensor].shape
    return tuple(1 if axis == ADDED else shape[axis] for axis in axes)


def _earlier(graph: Graph, at: Origin) -> Origin | None:
    node = graph.producers.get(at.tensor)
    if node is None:
        return None
    if isinstance(node.op, Transpose):
        axes = tuple(axis if axis == ADDED else node.op.perm[axis] for axis in at.axes)
        return replace(at, tensor=node.inputs[0], axes=axes)
    if isinstance(node.op, Reshape):
        return _shared(graph, at, node)
    if _by_rows(graph, node, at) and len(graph.consumers[at.tensor]) == 1 and at.tensor not in graph.sinks:
        return replace(at, tensor=node.inputs[0], again=((node, at.axes), *at.again))
    return None


def _shared(graph: Graph, at: Origin, node: Node) -> Origin | None:
    """[b, g, s, d] where that was copied for each head of a group: [b, g, 1, s, d], [b, g, r, s, d], [b, h, s, d]."""
    copied = graph.producers.get(node.inputs[0])
    apart = graph.producers.get(copied.inputs[0]) if copied and isinstance(copied.op, Expand) else None
    if copied is None or apart is None or not isinstance(apart.op, Reshape) or len(at.axes) != 4 or ADDED in at.axes:
        return None
    before, wide, after = (graph.types[name].shape for name in (apart.inputs[0], copied.key, node.key))
    if len(before) != 4 or len(wide) != 5 or wide[:2] != before[:2] or wide[3:] != before[2:]:
        return None
    if graph.types[apart.key].shape != (*before[:2], 1, *before[2:]) or after != (
        before[0],
        wide[1] * wide[2],
        *before[2:],
    ):
        return None
    return replace(at, tensor=apart.inputs[0], shape=_seen_shape(graph, apart.inputs[0], at.axes))


def _by_rows(graph: Graph, node: Node, at: Origin) -> bool:
    """Whether a node can be computed with other orders of axes: of each element, or of rows that stay rows."""
    if len(graph.types[node.key].shape) != 4 or ADDED in at.axes or not node.inputs:
        return False
    if isinstance(node.op, QLinearRotate):
        return at.axes[-1] == 3
    if isinstance(node.op, Lookup):
        return True
    others = [graph.constants.get(name) for name in node.inputs[1:] if name]
    return node.op.elementwise and all(value is not None and value.size == 1 for value in others)


# ---- the rewrite ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    written: Written
    queries: Origin
    keys: Origin
    values: Origin

    def types(self, graph: Graph, node: Node) -> dict[str, TensorType]:
        """Of the operator's operands and of its result."""
        parts = {"Q": self.queries, "K": self.keys, "V": self.values}
        written = self.written
        tensors = {"Q": written.queries, "K": written.keys, "V": written.values}
        types = {name: TensorType(graph.types[tensors[name]].dtype, part.shape) for name, part in parts.items()}
        if written.table:
            types["table"] = graph.types[written.table]
        if written.mask:
            types["mask"] = TensorType(graph.types[written.mask].dtype, mask_shape(graph, written.mask))
        return types | {"Y": TensorType(graph.types[node.key].dtype, (*self.queries.shape[:3], self.values.shape[3]))}


def mask_shape(graph: Graph, mask: str) -> Shape:
    """As it broadcasts with scores."""
    shape = graph.types[mask].shape
    return (1,) * (4 - len(shape)) + shape


def _found(graph: Graph, takes: Takes, node: Node) -> _Found | None:
    """What a node ends, if that is an attention whose shapes fit together and that the target takes."""
    written = written_attention(graph, node)
    if written is None:
        return None
    queries, values = origin(graph, written.queries), origin(graph, written.values)
    found = _scaled(graph, _Found(written, queries, origin(graph, written.keys, written.turned), values))
    types = found.types(graph, node)
    try:
        found.written.op.check(types)
    except Refusal:
        return None
    return found if takes(found.written.op, types) else None


def _scaled(graph: Graph, found: _Found) -> _Found:
    """Factors of all queries or keys of floats are the operator's own."""
    op = found.written.op
    if not isinstance(op, FusedAttention):
        return found
    (queries, q_factor), (keys, k_factor) = (_without_factors(graph, part) for part in (found.queries, found.keys))
    scale = op.scale * q_factor * k_factor
    return replace(found, written=replace(found.written, op=replace(op, scale=scale)), queries=queries, keys=keys)


def _without_factors(graph: Graph, part: Origin) -> tuple[Origin, float]:
    """Without the last factors of all elements, and their product."""
    factor, again = 1.0, list(part.again)
    while again and isinstance(again[-1][0].op, Mul):
        factor *= float(graph.constants[again.pop()[0].inputs[1]].flat[0])
    return replace(part, again=tuple(again)), factor


class _Fusing:
    def __init__(self, graph: Graph, takes: Takes) -> None:
        self.graph, self.takes = graph, takes
        self.made: dict[str, tuple[str, Shape]] = {}
        """Tensor -> the result with tokens first that it holds, and which of its axes each of the tensor's is."""
        self.renamed: dict[str, str] = {}

    def change(self, node: Node, builder: Builder) -> Mapping[str, str] | None:
        if node.inputs and node.inputs[0] in self.made and isinstance(node.op, Transpose | Reshape):
            return self._after(node, builder)
        found = _found(self.graph, self.takes, self.graph.producers[node.key])
        if found is None:
            return None
        inputs = [self._tokens_first(builder, part) for part in (found.queries, found.keys, found.values)]
        inputs += [found.written.table] if found.written.table else []
        inputs += [self._mask(builder, found.written.mask)] if found.written.mask else []
        (result,) = builder.add(found.written.op, inputs)
        self._give(node, builder, result)
        return {node.key: node.key}

    def _mask(self, builder: Builder, mask: str) -> str:
        name, shape = self.renamed.get(mask, mask), mask_shape(self.graph, mask)
        return name if builder.type_of(name).shape == shape else builder.add(Reshape(shape), [name])[0]

    def _tokens_first(self, builder: Builder, part: Origin) -> str:
        kept = [axis for axis in part.axes if axis != ADDED]
        tensor = self.renamed.get(part.tensor, part.tensor)
        if kept != sorted(kept):
            (tensor,) = builder.add(Transpose(tuple(kept)), [tensor])
        for node, axes in part.again:
            others = [self._in_order(builder, name, axes) for name in node.inputs[1:]]
            (tensor,) = builder.add(node.op, [tensor, *others], name=node.name)
        if builder.type_of(tensor).shape != part.shape:
            (tensor,) = builder.add(Reshape(part.shape), [tensor])
        return tensor

    def _in_order(self, builder: Builder, name: str, axes: Shape) -> str:
        """What broadcasts with a tensor, as it does with the one whose axes are in this order."""
        name = self.renamed.get(name, name)
        shape, value = builder.type_of(name).shape, self.graph.constants.get(name)
        full = (1,) * (len(axes) - len(shape)) + shape
        if len(shape) < 2:
            return name
        if value is not None:
            return builder.constant(np.ascontiguousarray(value.reshape(full).transpose(axes)), name)
        turned = Transpose(axes).simplest(full)
        (wide,) = builder.add(Reshape(full), [name])
        return builder.add(turned, [wide])[0]

    def _give(self, node: Node, builder: Builder, result: str) -> None:
        """The result as the node had it: heads first."""
        shape = self.graph.types[node.key].shape
        (turned,) = builder.add(Transpose(HEADS_FIRST), [result])
        builder.add(Reshape(shape), [turned], node.outputs)
        four = (1,) * (4 - len(shape)) + shape
        if four == builder.type_of(turned).shape:
            self.made[node.key] = result, HEADS_FIRST[4 - len(shape) :]
        else:
            self.made[node.key] = result, ()

    def _after(self, node: Node, builder: Builder) -> Mapping[str, str] | None:
        """A transposition that brings tokens first again has nothing left to do."""
        result, axes = self.made[node.inputs[0]]
        kind, shape = builder.type_of(result), self.graph.types[node.key].shape
        if isinstance(node.op, Reshape):
            if shape == tuple(kind.shape[axis] for axis in HEADS_FIRST):
                self.made[node.key] = result, HEADS_FIRST
            return None
        moved = tuple(axes[axis] for axis in node.op.perm) if axes and isinstance(node.op, Transpose) else (1, 0)
        if moved != tuple(sorted(moved)):
            return None
        if shape == kind.shape:
            self.renamed[node.key] = result
            return {node.key: result}
        builder.add(Reshape(shape), [result], node.outputs)
        return {node.key: node.key}
