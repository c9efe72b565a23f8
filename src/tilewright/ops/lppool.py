from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._pool import read_pool
from tilewright.ops.abs import Abs
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.pow import Pow
from tilewright.ops.sqrt import Sqrt
from tilewright.records import dataclass


@dataclass(frozen=True)
class LpPool(Op):
    """The p-th root of the sum of |x|^p over each window: an AveragePool between powers."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, x, p = Compose(node, emit), node.inputs[0], node.attribute("p", 2)
        if p < 1:
            raise Refusal(f"p is {p}, at least 1 is expected")
        strides, dilations, padding, kernel, added = read_pool(node)
        # All of a window counts, padding too: the mean is then the sum by a constant.
        pool = AveragePool(strides, dilations, padding, kernel=kernel, count_pads=True, uncounted=(0,) * len(added))
        size = make(Abs(), x)
        powers = make.mul(x, x) if p == 2 else size if p == 1 else make(Pow(), size, make.like(p, x))
        total = make.scaled(make(replace(pool), powers), math.prod(kernel))
        root = make(Sqrt(), total) if p == 2 else total if p == 1 else make(Pow(), total, make.like(1.0 / p, x))
        return make.give(root)
