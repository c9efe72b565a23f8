from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, rows_of_floats
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class Scaler(Op):
    """(x - offset) * scale, of each feature."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        x = rows_of_floats(node, make)
        for name, neutral in (("offset", 0.0), ("scale", 1.0)):
            given = np.asarray(node.attribute(name, ()), np.float32)
            if given.size not in (0, 1, make.shape(x)[1]):
                raise Refusal(f"{given.size} values of '{name}' for {make.shape(x)[1]} features")
            if (given != neutral).any():
                value = make.constant(given, name)
                x = make.sub(x, value) if name == "offset" else make.mul(x, value)
        return make.give(make.reshape(x, node.type(0).shape))
