"""Images of int8 whose zero is -128, as rectified ones have it, become uint8 with the zero 0.

Every number is 128 more, and nothing else changes. N-EUREKA sees 0 behind the right and the bottom edge of an image,
which is then the zero of that image: padding needs no second bias. What is added to such an image, and read by nothing
but sums, becomes uint8 too: N-EUREKA adds bytes that are all signed or all unsigned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reshape import Reshape
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

UNSIGNED_IMAGES = "unsigned images"
"""The pass."""
MORE = 128
MOVES = (Reshape, Transpose, MaxPool, Concat)
"""Operators whose results are elements of their operands, by order alone."""
REQUANTISING = (Conv, MatMul, QLinearAdd, QLinearAveragePool, QLinearReduceMean, TfliteAdd)
SCALES: Mapping[type[Op], bool] = {QuantizeLinear: False, DequantizeLinear: True}
"""Operators with a zero point as an operand, and whether it is that of what they read."""


Keeps = Callable[[Graph, Node], bool]
"""Whether a node is to have its operands and results as they are."""


def nothing_kept(graph: Graph, node: Node) -> bool:
    return False


def int8_to_uint8(keeps: Keeps) -> Pass:
    """Tensors that such a node makes or reads stay int8."""
    return Pass(UNSIGNED_IMAGES, partial(run, keeps), ensures=partial(padded_with_zeros, keeps))


def run(keeps: Keeps, graph: Graph) -> Graph:
    changed = _changing(keeps, graph)
    return rewrite(graph, partial(_with_more, changed)) if changed else graph


def kept_back(keeps: Keeps, graph: Graph) -> set[str]:
    """Images that stay int8 for the sake of such nodes alone."""
    return _changing(nothing_kept, graph) - _changing(keeps, graph)


def _changing(keeps: Keeps, graph: Graph) -> set[str]:
    groups = [group for group in _groups(graph) if not any(keeps(graph, node) for node in _around(graph, group))]
    images = {tensor for group in groups if _is_worth_it(graph, group) for tensor in group}
    return images.union(*(group for group in groups if _is_added_to(graph, group, images)))


# ---- which ----------------------------------------------------------------------------------------------------------


def _groups(graph: Graph) -> Iterable[set[str]]:
    """Tensors of int8 that are moved into each other: all of them have the same zero."""
    group_of: dict[str, set[str]] = {}
    for node in graph.nodes:
        for tensor in filter(None, node.outputs):
            group_of[tensor] = {tensor}
        if not isinstance(node.op, MOVES):
            continue
        joined = group_of[node.key].union(*(group_of.get(tensor, {tensor}) for tensor in node.inputs if tensor))
        group_of.update(dict.fromkeys(joined, joined))
    return {id(group): group for group in group_of.values()}.values()


def _is_worth_it(graph: Graph, group: set[str]) -> bool:
    """Whether a window lies over an edge, and everything around it can be changed."""
    readers = _readers(graph, group)
    if not any(isinstance(n.op, Conv) and any(n.op.padding) and n.op.x_zero == -MORE for n in readers):
        return False
    return _is_changeable(graph, group)


def _is_added_to(graph: Graph, group: set[str], images: set[str]) -> bool:
    """Whether sums alone read it, one of them with an unsigned tensor besides, and all of them can be changed."""
    sums = [node for node in _readers(graph, group) if not isinstance(node.op, MOVES)]
    if not group.isdisjoint(images) or not all(isinstance(node.op, QLinearAdd) for node in sums):
        return False
    others = {tensor for node in sums for tensor in node.inputs} - group
    if not any(tensor in images or graph.types[tensor].dtype == "uint8" for tensor in others):
        return False
    # With both operands unsigned, the offset has what 128 times both factors are.
    return _is_changeable(graph, group) and all(_can_change(graph, node, group | images) for node in sums)


def _readers(graph: Graph, group: set[str]) -> list[Node]:
    return [node for tensor in group for node in graph.consumers.get(tensor, [])]


def _around(graph: Graph, group: set[str]) -> list[Node]:
    """What makes its tensors, and what reads them."""
    return [*(graph.producers[tensor] for tensor in group if tensor in graph.producers), *_readers(graph, group)]


def _is_changeable(graph: Graph, group: set[str]) -> bool:
    """Whether it is of int8, and all that makes and reads it can have it as uint8."""
    if any(graph.types[tensor].dtype != "int8" for tensor in group) or not group.isdisjoint(graph.sinks):
        return False
    if not all(tensor in graph.producers for tensor in group):
        return False
    return all(_can_change(graph, node, group) for node in _around(graph, group))


def _can_change(graph: Graph, node: Node, group: set[str]) -> bool:
    if isinstance(node.op, MOVES):
        return True
    try:
        op = _changed(node, group)
        types = graph.operand_types(node)
        for name, tensor in node.operands().items():
            if tensor in group or (name == "zero" and type(node.op) in SCALES):
                types[name] = replace(types[name], dtype="uint8")
        if op is None:
            return False
        op.infer(types)
    except (Refusal, CompileError):
        return False
    return not isinstance(node.op, QuantizeLinear | DequantizeLinear) or node.inputs[2] in graph.constants


# ---- how ------------------------------------------------------------------------------------------------------------


def _with_more(changed: set[str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    if changed.isdisjoint((*node.inputs, *node.outputs)) or isinstance(node.op, MOVES):
        return None
    inputs = list(node.inputs)
    if type(node.op) in SCALES:
        zero = builder.constants[inputs[2]].astype(np.int16) + MORE
        inputs[2] = builder.constant(zero.astype(np.uint8), inputs[2])
    builder.add(_changed(node, changed) or node.op, inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _changed(node: Node, group: set[str]) -> Op | None:
    """The operator where operands and results of the group are 128 more; None where there is none."""
    if type(node.op) in SCALES:
        return node.op if node.inputs[0] in group or not SCALES[type(node.op)] else None
    if not isinstance(node.op, REQUANTISING):
        return None
    op: Op | None = node.op
    for name, tensor in node.operands().items():
        if tensor in group and op is not None:
            change = OPERANDS.get((type(op), name))
            op = None if change is None else change(op)
    if op is None or node.key not in group:
        return op
    requant = getattr(op, "requant", None)
    return None if requant is None else replace(op, **{"requant": _more(requant)})


def _more(requant: Requant) -> Requant:
    ends = {name: getattr(requant, name) + MORE for name in ("low", "high", "zero_point")}
    return replace(requant, dtype="uint8", **ends)


def _add(field: str) -> Callable[[Op], Op]:
    return lambda op: replace(op, **{field: getattr(op, field) + MORE})


def _summand(field: str) -> Callable[[Op], Op]:
    return lambda op: replace(op, **{field: replace(getattr(op, field), zero=getattr(op, field).zero + MORE)})


def _factor(field: str) -> Callable[[Op], Op]:
    return lambda op: replace(op, **{"offset": vars(op)["offset"] - MORE * vars(op)[field]})


OPERANDS: Mapping[tuple[type[Op], str], Callable[[Op], Op]] = {
    (Conv, "X"): _add("x_zero"), (MatMul, "A"): _add("a_zero"), (MatMul, "B"): _add("b_zero"),
    (QLinearAdd, "A"): _factor("mul_a"), (QLinearAdd, "B"): _factor("mul_b"), (QLinearAveragePool, "X"): _add("x_zero"),
    (QLinearReduceMean, "X"): _add("x_zero"), (TfliteAdd, "A"): _summand("first"), (TfliteAdd, "B"): _summand("second"),
}  # fmt: skip
"""What an operand of the group does to its reader."""


def padded_with_zeros(keeps: Keeps, graph: Graph) -> Iterator[Complaint]:
    """No image of int8 is left that could be unsigned, and nothing that is added to one."""
    for tensor in sorted(_changing(keeps, graph)):
        yield graph.producers[tensor].where, "gives int8 to a padded convolution or a sum, which could be uint8"


INT8_TO_UINT8 = int8_to_uint8(nothing_kept)
