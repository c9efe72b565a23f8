from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._gradients import declared
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class MSELoss(Op):
    """The mean (or sum) of squared differences between two tensors."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, how = Compose(node, emit), reduction_of(node)
        difference = make.sub(*node.inputs[:2])
        square = make.mul(difference, difference)
        if how == "none":
            return make.give(square)
        axes = tuple(range(len(make.shape(square))))
        loss = make((ReduceMean if how == "mean" else ReduceSum)(axes, False), square)
        return make.give(make.reshape(loss, _scalar(declared(node))))


def _scalar(known: tuple[int, ...] | None) -> tuple[int, ...]:
    return known if known is not None and set(known) <= {1} else ()


def reduction_of(node: OnnxNode) -> str:
    how = str(node.attribute("reduction", "mean"))
    if how not in ("mean", "sum", "none"):
        raise Refusal(f"reduction {how} is unknown", "use mean, sum or none")
    return how
