"""Kernels of functions of floats, and of norms and softmaxes of their rows, all cores together."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.op import Op
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.div import Div
from tilewright.ops.erf import Erf
from tilewright.ops.exp import Exp
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.elementwise import variant
from tilewright.targets.pulp.sizes import in_c


def function(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X -> Y", dict.fromkeys("XY", FLOATS), cooperative=True, header="unary.h")


def quotient(source: str) -> Kernel:
    return Kernel(
        Div, source, "A B -> Y", dict.fromkeys("ABY", FLOATS), cooperative=True,
        work=in_c.work("tw_quotient_work"), header="binary.h",
    )  # fmt: skip


def gelu(source: str, approximate: str) -> Kernel:
    return replace(variant("Gelu", source, "approximate", approximate, "X -> Y", FLOATS), cooperative=True)


def rows(op: type[Op], source: str, signature: str, header: str) -> Kernel:
    return Kernel(op, source, signature, {}, cooperative=True, header=header)


KERNELS = (
    function(HardSigmoid, "hardsigmoid_shared.c"),
    function(HardSwish, "hardswish_shared.c"),
    function(LeakyRelu, "leakyrelu_shared.c"),
    quotient("div_shared.c"),
    function(Erf, "erf_shared.c"),
    function(Exp, "exp_shared.c"),
    function(Sigmoid, "sigmoid_shared.c"),
    function(Swish, "swish_shared.c"),
    function(Tanh, "tanh_shared.c"),
    gelu("gelu_shared.c", "none"),
    gelu("gelu_tanh_shared.c", "tanh"),
    rows(Softmax, "softmax_rows.c", "X:float32 -> Y:float32", "softmax.h"),
    rows(
        LayerNormalization,
        "layer_norm_rows.c",
        "X:float32 Scale:float32 B:float32 -> Y:float32 Mean:float32 InvStdDev:float32",
        "row_norm.h",
    ),
    rows(RMSNormalization, "rms_norm_rows.c", "X:float32 scale:float32 -> Y:float32", "row_norm.h"),
)
