"""Reductions, whose axes are a constant input in ONNX."""

from __future__ import annotations

from typing import Any

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.rules.elementwise import in_int32
from tilewright.export.writer import NodeWriter
from tilewright.ops._reduction import Reduction

KINDS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


@rule(*KINDS)
def reduction(to: NodeWriter, op: Reduction) -> None:
    fields = op.attributes()
    if fields.get("integer") and to.type("X").dtype != "float32":
        raise Refusal("a rounded mean of integers cannot be exported", "use the float network")
    x = in_int32(to, "X") if fields.get("wide") else to.operand("X")
    # Without axes ONNX means all of them, unless it is told that nothing is to be done.
    nothing: dict[str, Any] = {} if op.axes else {"noop_with_empty_axes": 1}
    to.end(op.kind, [x, to.integers(op.axes, "axes")], keepdims=int(op.keepdims), **nothing)
