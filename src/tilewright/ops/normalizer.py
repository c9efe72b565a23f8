from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, rows_of_floats
from tilewright.ops._compose import Compose
from tilewright.ops.abs import Abs
from tilewright.ops.div import Div
from tilewright.ops.equal import Equal
from tilewright.ops.reducel1 import ReduceL1
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.where import Where
from tilewright.records import dataclass

NORMS = {"L1": ReduceL1, "L2": ReduceL2, "MAX": ReduceMax}


@dataclass(frozen=True)
class Normalizer(Op):
    """Every row divided by its norm; rows of zeros stay."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, kind = Compose(node, emit), node.attribute("norm", "MAX")
        if kind not in NORMS:
            raise Refusal(f"norm {kind} is not supported", f"supported: {', '.join(NORMS)}")
        x = rows_of_floats(node, make)
        norm = make(NORMS[kind]((1,), True), make(Abs(), x) if kind == "MAX" else x)
        zero = make(Equal(), norm, make.like(0.0, norm))
        divided = make(Div(), x, make(Where(), zero, make.like(1.0, norm), norm))
        return make.give(make.reshape(divided, node.type(0).shape))
