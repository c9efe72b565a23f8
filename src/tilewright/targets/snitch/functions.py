"""Kernels of functions of floats, 16 elements at a time, all cores together."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.op import Op
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.exp import Exp
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.elementwise import variant
from tilewright.targets.snitch.sizes import in_c

WORK = in_c.work("tw_function_work")


def function(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, cooperative=True, work=WORK, header="unary.h"
    )  # fmt: skip


def gelu(source: str, approximate: str) -> Kernel:
    found = variant("Gelu", source, "approximate", approximate, "X -> Y", FLOATS)
    return replace(found, signature="X:float32 -> Y:float32", dtypes={}, cooperative=True, work=WORK)


KERNELS = (
    function(Exp, "exp_blocks.c"),
    function(HardSigmoid, "hardsigmoid_blocks.c"),
    function(HardSwish, "hardswish_blocks.c"),
    function(Relu, "relu_blocks.c"),
    function(Sigmoid, "sigmoid_blocks.c"),
    function(Swish, "swish_blocks.c"),
    function(Tanh, "tanh_blocks.c"),
    gelu("gelu_blocks.c", "none"),
    gelu("gelu_tanh_blocks.c", "tanh"),
)
