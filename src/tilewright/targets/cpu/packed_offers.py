"""Which convolutions and products are offered in the forms of packed_forms.py."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Clips, Form, shortest
from tilewright.requant.spec import RequantSpec
from tilewright.target.constant_layer import constant_layer
from tilewright.target.target import Offer
from tilewright.targets.cpu.packed_forms import (
    Block,
    ComputedProduct,
    PackedConvolution,
    PackedProduct,
    RequantForm,
    depthwise_form,
)

HIGH_BITS = 31
"""That the instruction for the upper half of a product leaves out."""
LARGEST_PRODUCT = 256 * 256
"""Of two bytes without their zero points."""
LARGEST_NEAR = 32000
"""That 16 bits hold with any zero point of a byte, and rounded up."""
LARGEST_SHIFTED = (1 << 31) - 2


def offers(block: Block, graph: Graph, node: Node) -> list[Offer]:
    """With such blocks of filters."""
    offer = _constant(block, graph, node)
    offer = _computed(graph, node) if offer is None else offer
    return [] if offer is None else [offer]


def _constant(block: Block, graph: Graph, node: Node) -> Offer | None:
    """A layer of bytes, with what its constants decide."""
    layer = constant_layer(graph, node, NARROW)
    if layer is None or graph.types[node.inputs[1]].dtype not in NARROW:
        return None
    requant, given = layer.conv.requant, dict(layer.values)
    way = RequantForm.ANY if requant is None else form_of(requant, given["mul"], given.get("add"), layer.largest)
    if way in (RequantForm.NEAR, RequantForm.HIGH) and requant is not None and not requant.has_exponents:
        given.pop("add", None)
    kind = depthwise_form(block) if layer.is_depthwise else PackedConvolution
    form = kind(len(layer.rows), layer.kernel, layer.conv, way=way, block=block)
    made = {"W": form.packed_weights(layer.rows), "B": form.packed_values(layer.start)}
    made |= {name: form.packed_values(given[name]) for name in ("mul", "add") if name in given}
    constants = {f"{node.key}_{name}_packed": array for name, array in made.items()}
    op = PackedProduct(form) if isinstance(node.op, MatMul) and isinstance(form, PackedConvolution) else form
    return Offer(op, (node.inputs[0], *constants), constants)


def _computed(graph: Graph, node: Node) -> Offer | None:
    """A product of bytes of which none is constant."""
    op, operands = node.op, node.operands()
    if not isinstance(op, MatMul) or isinstance(op, ComputedProduct) or (op.alpha, op.beta) != (1.0, 1.0):
        return None
    if not NARROW.issuperset(graph.types[operands[name]].dtype for name in "AB") or op.activation is not None:
        return None
    way, mul = RequantForm.ANY, graph.constants.get(operands.get("mul", ""))
    add = graph.constants.get(operands["add"]) if "add" in operands else None
    if op.requant is not None and mul is not None and mul.size and "C" not in operands:
        inner, columns = _inner(op, graph.types[operands["A"]].shape), mul.reshape(-1).astype(np.int64)
        if "add" in operands and (add is None or add.size not in (1, mul.size)):
            return None
        summands = None if add is None else np.broadcast_to(add.reshape(-1), columns.shape).astype(np.int64)
        way = form_of(op.requant, columns, summands, np.full(columns.shape, inner * LARGEST_PRODUCT))
        if add is not None and not op.requant.has_exponents:
            way = RequantForm.ANY  # its summands would be taken for exponents
    fields = {field.name: getattr(op, field.name) for field in dataclass_fields(op)}
    return Offer(ComputedProduct(**fields, way=way), node.inputs)


def _inner(op: MatMul, shape: Shape) -> int:
    """How many products make a total."""
    ordered = [shape[axis] for axis in op.perm_a] if op.perm_a else shape
    return ordered[-2] if op.trans_a and len(ordered) > 1 else ordered[-1]


BYTES: Clips = {"int8": None, "uint8": None}
ONCE, TWICE, TWICE_UP = (frozenset({one}) for one in (Arithmetic.ONCE, Arithmetic.TWICE, Arithmetic.TWICE_UP))
FORMS = (
    Form(RequantForm.FLOAT, frozenset({Arithmetic.FLOAT}), BYTES),
    Form(RequantForm.NEAR, ONCE, BYTES, shifts=(HIGH_BITS + 1, 62), result=LARGEST_NEAR),
    Form(RequantForm.HIGH, ONCE, BYTES, shifts=(HIGH_BITS + 1, 62)),
    Form(
        RequantForm.NEAR_DOUBLE_UP, TWICE_UP, BYTES, shifts=(HIGH_BITS, 62), left_out=HIGH_BITS,
        middle=LARGEST_SHIFTED, result=LARGEST_NEAR,
    ),
    Form(
        RequantForm.NEAR_DOUBLE, TWICE, BYTES, shifts=(HIGH_BITS + 1, 62), left_out=HIGH_BITS, middle=LARGEST_SHIFTED,
        result=LARGEST_NEAR,
    ),
    Form(RequantForm.DOUBLE_UP, TWICE_UP, BYTES),
    Form(RequantForm.DOUBLE, TWICE, BYTES),
)  # fmt: skip
"""That vectors have, the shortest first."""


def form_of(requant: Requant, mul: Array, add: Array | None, largest: Array) -> RequantForm:
    """For totals up to `largest`."""
    return shortest(RequantSpec(requant, mul, add, -largest, largest), FORMS) or RequantForm.ANY
