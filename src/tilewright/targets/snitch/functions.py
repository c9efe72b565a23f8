"""Kernels of functions of floats, 16 elements at a time, all cores together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilewright.ir.op import Op
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.exp import Exp
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.relu import Relu
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.elementwise import variant

BLOCK = 16
"""TW_BLOCK in C."""


def block_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, and blocks of one core."""
    blocks = -(-prod(extents.values()) // BLOCK)
    return 1.0, float(-(-blocks // cores))


def function(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, cooperative=True, features=block_features, header="unary.h"
    )  # fmt: skip


def gelu(source: str, approximate: str) -> Kernel:
    found = variant("Gelu", source, "approximate", approximate, "X -> Y", FLOATS)
    return replace(found, signature="X:float32 -> Y:float32", dtypes={}, cooperative=True, features=block_features)


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
