"""Which convolutions and products are offered in the forms of vector_forms.py."""

from __future__ import annotations

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import PLAIN, SCALED, Rounding
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Clips, Form, shortest
from tilewright.requant.spec import RequantSpec
from tilewright.target.constant_layer import WIDE, ConstantLayer, constant_layer
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.vector_forms import (
    ELEMENTS,
    RequantForm,
    VectorConv,
    VectorDepthwise,
    VectorForm,
    VectorProduct,
    elements,
)

SHORT_RESULTS = frozenset({"int8", "uint8", "int16", "uint16"})
LEAST_SHIFT = 2
NORMALISED = 1 << 30
LARGEST_PAIR = 255
"""Of two weights: their products with a byte fit 16 bits together."""


def forms(graph: Graph, node: Node) -> list[Offer]:
    """With what constants decide."""
    layer = constant_layer(graph, node, ELEMENTS)
    if layer is None or not _is_taken(layer):
        return []
    dtype = graph.types[node.inputs[0]].dtype
    is_depthwise = layer.is_depthwise and (dtype == WIDE or _pairs_fit(layer.rows))
    kind: type[VectorForm] = VectorDepthwise if is_depthwise else VectorConv
    way = RequantForm.ANY if layer.conv.requant is None else _form(layer, dtype)
    form = kind(len(layer.rows), layer.kernel, layer.conv, way=way, vector=elements(dtype))
    given = {"B": layer.start, **{name: layer.values[name] for name in ("mul", "add") if name in layer.values}}
    if way != RequantForm.ANY and layer.conv.requant is not None and not layer.conv.requant.has_exponents:
        given.pop("add", None)
    made = {"W": form.packed_weights(layer.rows)}
    made |= {name: form.packed_values(values) for name, values in given.items()}
    constants = {f"{node.key}_{name}_vectors": array for name, array in made.items()}
    op = VectorProduct(form) if isinstance(node.op, MatMul) and isinstance(form, VectorConv) else form
    return [Offer(op, (node.inputs[0], *constants), constants)]


def _pairs_fit(rows: Array) -> bool:
    """Whether the products of two neighbouring taps fit 16 bits together."""
    even = rows[:, : rows.shape[1] // 2 * 2]
    return not even.size or int((np.abs(even[:, ::2]) + np.abs(even[:, 1::2])).max()) <= LARGEST_PAIR


def _is_taken(layer: ConstantLayer) -> bool:
    """Whether vectors of 32 bits give the same to the bit."""
    requant, mul, add = layer.conv.requant, layer.values.get("mul"), layer.values.get("add")
    if requant is None:
        return True
    if mul is None or requant.dtype not in SHORT_RESULTS:
        return False
    if requant.rounding == Rounding.SINGLE:
        return add is not None and bool(((add < 0) | (mul == 0) | (np.abs(mul) >= NORMALISED)).all())
    return requant.has_exponents or requant.rounding == Rounding.NATIVE or requant.shift >= LEAST_SHIFT


RESULTS: Clips = dict.fromkeys(SHORT_RESULTS)
HIGH_ONCE = Form(RequantForm.SHORT, frozenset({Arithmetic.ONCE}), RESULTS, PLAIN, (33, 62))
WIDE_ONCE = Form(RequantForm.ONCE, frozenset({Arithmetic.ONCE}), RESULTS, SCALED, (33, 62))
FORMS = (
    HIGH_ONCE,
    Form(RequantForm.UP, frozenset({Arithmetic.TWICE_UP}), RESULTS, shifts=(31, 62)),
    Form(RequantForm.SHORT, frozenset({Arithmetic.TWICE}), RESULTS, shifts=(31, 62)),
)
"""That vectors have; of images of 16 bits also WIDE_ONCE."""


def _form(layer: ConstantLayer, dtype: str) -> RequantForm:
    """The shortest."""
    requant, mul, largest = instance(layer.conv.requant, Requant), layer.values["mul"], layer.largest
    spec = RequantSpec(requant, mul, layer.values.get("add"), -largest, largest)
    found = shortest(spec, (WIDE_ONCE, *FORMS) if dtype == WIDE else FORMS)
    return RequantForm.ANY if found is None else found
