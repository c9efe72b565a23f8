"""What gradients of operators share: training graphs name them after the operator, with `Grad` appended."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Shape, TensorType


def require_floats(types: Mapping[str, TensorType]) -> None:
    for name, kind in types.items():
        if kind.dtype != "float32":
            raise Refusal(f"{name} is {kind.dtype}; gradients are computed in float32", "insert a Cast")


def declared(node: OnnxNode, position: int = 0) -> Shape | None:
    """The shape that the file states for a result, if it does."""
    return node.declared[position] if position < len(node.declared) else None
