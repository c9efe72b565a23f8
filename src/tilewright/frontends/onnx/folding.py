"""Nodes whose inputs are all known are computed at import; shape arithmetic disappears this way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from tilewright.errors import Refusal
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.types import Array, TensorType

Types = dict[str, onnx.TypeProto]

MAX_FOLDED = 2**26
"""Elements that one folded node may give: shapes come from an untrusted file."""

FOLDABLE = frozenset({
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "BitShift",
    "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "BlackmanWindow", "Cast", "CastLike", "Ceil", "Clip",
    "Compress", "Concat", "ConstantOfShape", "Cos", "Cosh", "CumSum", "Div", "Equal", "Erf", "Exp", "Expand",
    "EyeLike", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual",
    "HammingWindow", "HannWindow", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max",
    "Mean", "MelWeightMatrix", "Min", "Mod", "Mul", "Neg", "NonZero", "Not", "OneHot", "OptionalHasElement", "Or",
    "Pad", "Pow", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape", "Round", "ScatterElements", "ScatterND",
    "Shape", "Sigmoid", "Sign", "Sin", "Sinh", "Size", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tan",
    "Tanh", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
})  # fmt: skip
"""What is computed here. Work stays near the size of the result; heavier operators run with the network."""

MAX_DATA = 1024
"""Operands up to this many elements are looked at to predict a shape; shapes and axes are never longer."""

DATA_SIZED = frozenset({"Compress", "NonZero"})
"""Operators whose result's size depends on values, and is no larger than the operands make it."""

SHAPE_ONLY = frozenset({"EyeLike", "Shape", "Size"})
"""Operators that need to know no more of their operand than its type."""

AXIS_MOVES: dict[str, Callable[..., Array]] = {"Squeeze": np.squeeze, "Unsqueeze": np.expand_dims}
"""Their axes were attributes before opset 13; there the evaluator takes negative ones for others."""


def known_operands(
    node: onnx.NodeProto, constants: Mapping[str, Array], types: Mapping[str, TensorType]
) -> list[Array | None] | None:
    """The operands of a node, as far as it looks at them; None where they are not all known."""
    names = [name for name in node.input if name]
    values = [constants.get(name) if name else None for name in node.input]
    if node.op_type in SHAPE_ONLY:
        if len(names) != 1 or (names[0] not in constants and names[0] not in types):
            return None
        return values if names[0] in constants else [_any_value(types[names[0]]), *values[1:]]
    if node.op_type == "CastLike" and len(names) == 2 and names[1] not in constants and names[1] in types:
        values[1], names = np.zeros(1, types[names[1]].dtype), names[:1]
    return values if all(name in constants for name in names) else None


def _any_value(kind: TensorType) -> Array:
    return np.broadcast_to(np.zeros((), kind.element), kind.shape)


def fold(
    node: onnx.NodeProto, values: Sequence[Array | None], opset: int, model: onnx.ModelProto
) -> tuple[Array, ...] | None:
    """The results of a node on known inputs, or None where it cannot be computed here."""
    if node.op_type in ("Shape", "Size"):
        return (_shape(node, values),)
    if node.op_type not in FOLDABLE or _is_outlying(node, values):
        return None
    if node.op_type in AXIS_MOVES and opset < 13:
        return _moved(node, values)
    types = _predicted_types(node, values, opset)
    if types is None or not _predictable(node, types):
        return None
    return _by_reference(node, values, opset, model, types)


def _is_outlying(node: onnx.NodeProto, values: Sequence[Array | None]) -> bool:
    """A slice backward from before the first element or to behind the last: numpy's rules are not ONNX's."""
    if node.op_type != "Slice" or len(values) < 5 or any(value is None for value in values):
        return False
    data, starts, ends, _, steps = map(np.asarray, values)
    smallest, largest = min(data.shape, default=0), max(data.shape, default=0)
    return bool(np.any((steps < 0) & ((starts < -smallest) | (ends > largest))))


def _moved(node: onnx.NodeProto, values: Sequence[Array | None]) -> tuple[Array, ...] | None:
    axes = onnx_file.attributes(node).get("axes")
    if not values or values[0] is None:
        return None
    is_added = node.op_type == "Unsqueeze"
    if not isinstance(axes, list | tuple | None) or (axes is None and is_added):
        return None
    if axes is None:
        return (np.squeeze(values[0]),)
    rank = values[0].ndim + (len(axes) if is_added else 0)
    places = [axis % rank for axis in axes if isinstance(axis, int) and -rank <= axis < rank]
    if len(set(places)) != len(axes) or (not is_added and any(values[0].shape[at] != 1 for at in places)):
        return None  # axes that the tensor does not have
    return (AXIS_MOVES[node.op_type](values[0], tuple(places)),)


def _shape(node: onnx.NodeProto, values: Sequence[Array | None]) -> Array:
    shape = values[0].shape if values[0] is not None else ()
    if node.op_type == "Size":
        return np.asarray(math.prod(shape), np.int64)
    found = onnx_file.attributes(node)
    return np.asarray(shape[slice(found.get("start", 0), found.get("end"))], np.int64)


def _predictable(node: onnx.NodeProto, types: Types) -> bool:
    """Whether the results' sizes are known before they are computed; refuses sizes that no constant should have."""
    shapes = {name: _sizes(kind) for name, kind in types.items()}
    if None in shapes.values():
        return node.op_type in DATA_SIZED
    for name, shape in shapes.items():
        if shape is None or not 0 <= math.prod(shape) <= MAX_FOLDED or any(size < 0 for size in shape):
            raise Refusal(
                f"the constant '{name}' would have shape {shape}", f"at most {MAX_FOLDED} elements are folded"
            )
    return True


def _predicted_types(node: onnx.NodeProto, values: Sequence[Array | None], opset: int) -> Types | None:
    """What ONNX's shape inference knows of the results."""
    known = {name: np.asarray(value) for name, value in zip(node.input, values, strict=True) if value is not None}
    try:
        codes = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in known.items()}
        types = {name: helper.make_tensor_type_proto(codes[name], value.shape) for name, value in known.items()}
        data = {name: numpy_helper.from_array(value) for name, value in known.items() if value.size <= MAX_DATA}
        schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=opset, domain=node.domain)
        opsets = [helper.make_opsetid(node.domain, opset)]
        return dict(shape_inference.infer_node_outputs(schema, node, types, data, opset_imports=opsets))
    except Exception:  # the node contradicts itself; whoever converts it says how
        return None


def _sizes(kind: onnx.TypeProto) -> tuple[int, ...] | None:
    tensor = kind.tensor_type
    if not kind.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    if not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return tuple(int(dim.dim_value) for dim in tensor.shape.dim)


def _by_reference(
    node: onnx.NodeProto, values: Sequence[Array | None], opset: int, model: onnx.ModelProto, types: Types
) -> tuple[Array, ...] | None:
    """onnx's own reference implementation computes it."""
    from onnx.reference import ReferenceEvaluator

    feeds = {name: value for name, value in zip(node.input, values, strict=True) if name}
    inputs, outputs = ([helper.make_empty_tensor_value_info(name) for name in names] for names in (feeds, node.output))
    opsets = [helper.make_opsetid(domain, version) for domain, version in _opsets(model, node.domain, opset).items()]
    # A whole model: of a node alone the evaluator would take the newest version, whatever opset it is told.
    alone = helper.make_model(helper.make_graph([node], "folded", inputs, outputs), opset_imports=opsets)
    try:
        evaluator = ReferenceEvaluator(alone)
        with np.errstate(all="ignore"):
            results = evaluator.run(None, feeds)
    except Exception:  # as above
        return None
    return tuple(_typed(np.asarray(result), types.get(name)) for name, result in zip(node.output, results, strict=True))


def _typed(result: Array, kind: onnx.TypeProto | None) -> Array:
    """In the element type that ONNX says: the evaluator's sums of int32 are int64."""
    code = kind.tensor_type.elem_type if kind is not None else 0
    return result.astype(helper.tensor_dtype_to_np_dtype(code), copy=False) if code else result


def _opsets(model: onnx.ModelProto, domain: str, opset: int) -> dict[str, int]:
    return {entry.domain: entry.version for entry in model.opset_import} | {domain: opset}
