from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.erf import Erf
from tilewright.records import dataclass


@dataclass(frozen=True)
class Erfc(Op):
    """1 - erf(x): not of ONNX, but exporters from TensorFlow write it."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, x = Compose(node, emit), node.inputs[0]
        return make.give(make.sub(make.like(1.0, x), make(Erf(), x)))
