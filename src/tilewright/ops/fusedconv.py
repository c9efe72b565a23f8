from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.tanh import Tanh
from tilewright.records import dataclass


@dataclass(frozen=True)
class FusedConv(Op):
    """A Conv, a summand and an activation in one: ONNX Runtime's optimised graphs hold it."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "Z?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        kind, numbers = node.attribute("activation", ""), node.attribute("activation_params", ())
        op, inputs = Conv.from_onnx(replace(node, inputs=node.inputs[:3]))
        y = op.applied(make, *inputs)
        if node.has(3):
            y = make.add(y, node.inputs[3])
        function = _activation(kind, numbers)
        return make.give(y if function is None else make(function, y))


def _activation(kind: str, numbers: Sequence[float]) -> Op | None:
    plain: dict[str, type[Op]] = {"Relu": Relu, "Sigmoid": Sigmoid, "Tanh": Tanh}
    if kind in plain:
        return plain[kind]()
    if kind == "LeakyRelu" and len(numbers) == 1:
        return LeakyRelu(numbers[0])
    if kind == "HardSigmoid" and len(numbers) == 2:
        return HardSigmoid(*numbers)
    if kind == "Clip" and len(numbers) == 2:
        return Clip(*numbers)
    if kind:
        raise Refusal(
            f"activation {kind} with {len(numbers)} numbers is not supported", "save the model before it is optimised"
        )
    return None
