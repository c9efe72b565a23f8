"""What ONNX has no operator for, and why."""

from __future__ import annotations

from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ops._internal import Internal

FLOAT_INSTEAD = "export the float network, or one with QuantizeLinear and DequantizeLinear"

TENSORFLOW_LITE = frozenset({"TfliteSoftmax16"})
DIALECT = frozenset({
    "IntegerDiv", "TrueIntegerDiv", "RequantizedAdd", "iGELU", "iHardswish", "iLayerNorm",
    "iNoNorm", "iRMSNorm", "iSoftmax", "ITAMax", "ITAPartialMax",
})  # fmt: skip


BLOCKS = frozenset({"BlockMatMul", "BlockGather"})


def reason(op: Op) -> Refusal:
    """Why there is no rule for an operator."""
    kind = op.kind
    if kind in TENSORFLOW_LITE:
        return Refusal(f"{kind} rounds as TensorFlow Lite does, for which ONNX has no operator", FLOAT_INSTEAD)
    if kind in DIALECT:
        return of_dialect(op)
    if kind in BLOCKS:
        return Refusal(f"{kind} has weights in blocks, for which ONNX has no operator", "export the float network")
    if is_made_by_passes(type(op)):
        return Refusal(f"{kind} computes integers that ONNX has no operator for", FLOAT_INSTEAD)
    return Refusal(f"there is no rule that writes {kind} as ONNX", "write one in tilewright/export/rules")


def of_dialect(op: Op) -> Refusal:
    return Refusal(f"{op.kind} belongs to the integer dialect, for which ONNX has no operator", FLOAT_INSTEAD)


def is_made_by_passes(kind: type[Op]) -> bool:
    """Or by readers of checkpoints."""
    return issubclass(kind, Internal) or kind.__name__.startswith("QLinear") or kind.__name__ in BLOCKS
