from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._dialect import as_int32
from tilewright.ops.igelu import iGELU
from tilewright.ops.requantshift import emit_requant
from tilewright.records import dataclass


@dataclass(frozen=True)
class RequantizediGELU(Op):
    """iGELU, then RequantShift."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        wide = emit(iGELU.of(node), [as_int32(node, emit, 0)])[0]
        return emit_requant(node, emit, wide, (1, 2))
