"""Operators of ONNX that are accepted without an operator of ours: by ONNX's own definition, or folded at import."""

from __future__ import annotations

from functools import cache
from itertools import product

import onnx
from onnx import defs, helper

from tilewright import ops
from tilewright.frontends.onnx.folding import FOLDABLE
from tilewright.frontends.onnx.functions import definition
from tilewright.frontends.onnx.schemas import is_defined_by_others
from tilewright.ir.types import TensorType

SAMPLES = tuple(
    TensorType(dtype, shape)
    for dtype, shape in product(("float32", "int64"), ((2, 4, 6, 8), (2, 4, 8), (4, 8), (4,), ()))
)
"""Operands that are tried where a definition depends on their types."""

ALWAYS_CONSTANT = frozenset({"Constant"})


@cache
def by_definition() -> dict[str, tuple[str, ...]]:
    """Operator -> the operators that ONNX defines it by, where we know all of those."""
    newest = defs.onnx_opset_version()
    names = sorted({schema.name for schema in defs.get_all_schemas() if is_defined_by_others(schema.name, "", newest)})
    found = {name: _parts(name, newest) for name in names if ops.find(name) is None}
    return {name: parts for name, parts in found.items() if parts and all(_is_known(part, newest) for part in parts)}


def only_folded() -> list[str]:
    """Operators that are accepted where their operands are constants, and nowhere else."""
    names = (FOLDABLE | ALWAYS_CONSTANT) - set(by_definition())
    return sorted(name for name in names if ops.find(name) is None)


def _is_known(kind: str, opset: int) -> bool:
    """As an operator, folded, or by a definition in its turn; definitions are at most two deep."""
    known = kind in FOLDABLE | ALWAYS_CONSTANT or ops.find(kind) is not None
    return known or (bool(parts := _parts(kind, opset)) and all(ops.find(part) or part in FOLDABLE for part in parts))


@cache
def _parts(kind: str, opset: int) -> tuple[str, ...]:
    """The operators of a definition, for the first sample of operands that there is one for."""
    schema = defs.get_schema(kind, max_inclusive_version=opset)
    names = [f"x{position}" for position in range(schema.min_input)]
    node = helper.make_node(kind, names, [f"y{position}" for position in range(schema.min_output)], name=kind)
    node.attribute.extend(_required(schema))
    for sample in SAMPLES:
        if found := definition(node, opset, [sample] * len(names)):
            return tuple(sorted({inner.op_type for inner in found[0]}))
    return ()


def _required(schema: defs.OpSchema) -> list[onnx.AttributeProto]:
    """Whole numbers for the attributes that a node must have."""
    integers = defs.OpSchema.AttrType.INT
    return [
        helper.make_attribute(name, 1)
        for name, attribute in schema.attributes.items()
        if attribute.required and attribute.type == integers
    ]
