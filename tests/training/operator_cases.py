"""Operators with a rule for gradients, on small operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright import ops
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._fourier import twiddles

RANDOM = np.random.default_rng(5)

ANYWHERE = (
    "Abs Relu LeakyRelu Sigmoid Tanh Exp Erf Softplus Softsign Mish Swish Gelu HardSigmoid HardSwish Elu Celu Selu Sin "
    "Cos Tan Sinh Cosh Asinh Atan Neg Identity Shrink ThresholdedRelu Reciprocal Cast Round Floor Ceil Sign"
)
BELOW_ONE = "Log Sqrt Acos Asin Atanh"
FLAT = ("Round", "Floor", "Ceil", "Sign")
"""Functions whose gradient is zero wherever there is one."""
ARITHMETIC = "Add Sub Mul Div Max Min"
REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp ReduceProd"


@dataclass(frozen=True, eq=False)
class Case:
    op: Op
    arrays: tuple[Array | None, ...]
    wanted: tuple[int, ...] | None = None

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, array.shape)) for array in self.arrays if array is not None)
        return f"{self.op}-{shapes}".replace(" ", "")


def real(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def positive(*shape: int) -> Array:
    """Between 0.2 and 0.9."""
    return RANDOM.uniform(0.2, 0.9, size=shape).astype(np.float32)


def apart(*shape: int) -> Array:
    """No two are near each other, and none is near zero."""
    count = int(np.prod(shape))
    return (RANDOM.permutation(count) / count * 4 - 2 + 0.3 / count).reshape(shape).astype(np.float32)


def with_zeros(*shape: int) -> Array:
    """One in three."""
    return (real(*shape) * (np.arange(np.prod(shape)).reshape(shape) % 3 > 0)).astype(np.float32)


def case(kind: str, *arrays: Array | None, wanted: tuple[int, ...] | None = None, **fields: Any) -> Case:
    operator = ops.find(kind)
    assert operator is not None, kind
    return Case(operator(**fields), arrays, wanted)


def functions() -> Iterator[Case]:
    for kind in ANYWHERE.split():
        yield case(kind, apart(3, 4))
    for kind in BELOW_ONE.split():
        yield case(kind, positive(3, 4))
    yield case("Acosh", positive(3, 4) + 1)
    yield case("Gelu", real(3, 4), approximate="tanh")
    yield case("Clip", apart(5, 5), low=-0.5, high=0.7)
    yield case("Clip", apart(5, 5), high=0.7)
    yield case("Swish", real(5), alpha=1.7)
    yield case("Softmax", real(3, 4, 5), axis=1)
    yield case("LogSoftmax", real(3, 5), axis=-1)


def arithmetic() -> Iterator[Case]:
    for kind in ARITHMETIC.split():
        yield case(kind, apart(2, 3, 4), apart(3, 1))
        yield case(kind, apart(4), apart(2, 3, 4))
    yield case("Pow", positive(3, 4), real(4))
    yield case("PRelu", apart(2, 3, 4), real(3, 1))
    yield case("Mod", positive(3, 4) * 3, positive(4), fmod=1)
    yield case("Mod", real(3, 4) * 3, positive(4))
    yield case("Where", RANDOM.integers(0, 2, (3, 4)).astype(bool), real(3, 4), real(4))
    yield case("Trilu", real(4, 4), k=1)
    for fields in ({"exclusive": True, "reverse": True}, {"exclusive": True}, {"reverse": True}, {}):
        yield case("CumSum", real(3, 4), axis=1, **fields)
        yield case("CumProd", positive(3, 4), axis=0, **fields)
        yield case("CumProd", with_zeros(2, 7), axis=1, **fields)
        yield case("CumProd", real(3, 1), axis=1, **fields)


def reductions() -> Iterator[Case]:
    for axes, keepdims in (((1,), True), ((0, 2), False), ((0, 1, 2), False)):
        for kind in REDUCTIONS.split():
            yield case(kind, apart(2, 3, 4), axes=axes, keepdims=keepdims)
        yield case("ReduceLogSum", positive(2, 3, 4), axes=axes, keepdims=keepdims)
    yield case("GlobalAveragePool", real(2, 3, 4, 5))
    yield case("GlobalMaxPool", apart(2, 3, 4, 5))


def normalisations() -> Iterator[Case]:
    yield case("LayerNormalization", real(2, 3, 4), real(3, 4), real(3, 4), axis=1)
    yield case("LayerNormalization", real(2, 4), real(4))
    yield case("LayerNormalization", real(2, 4))
    yield case("RMSNormalization", real(2, 3, 4), real(4))
    yield case("GroupNormalization", real(2, 6, 3, 2), real(6), real(6), groups=3)
    yield case("BatchNormalization", real(2, 3, 4), real(3), real(3), real(3), positive(3))
    yield case("BatchNormalization", real(2, 3, 4), real(3), real(3))
    yield case("BatchNormalization", real(2, 4, 3), real(3), real(3), real(3), positive(3), axis=2)
    yield case("LRN", real(2, 7, 3), size=3, alpha=0.3)
    yield case("LRN", real(2, 7, 3), size=4, alpha=0.3)


def movement() -> Iterator[Case]:
    yield case("Reshape", real(3, 4), shape=(2, 6))
    yield case("Transpose", real(2, 3, 4), perm=(2, 0, 1))
    yield case("Expand", real(3, 1), shape=(2, 3, 4))
    yield case("Slice", real(5, 7), starts=(1, 6), steps=(1, -2), sizes=(3, 3))
    yield case("Slice", real(5, 7), starts=(0, 1), steps=(2, 3), sizes=(3, 2))
    yield case("Pad", real(3, 4), pads=(1, 0, 2, 3))
    yield case("Concat", real(2, 3), real(2, 1), real(2, 4), axis=1)
    rows, tuples = np.array([[0, 2], [3, 3]]), np.array([[[0], [3], [3]], [[1], [2], [1]]])
    yield case("Gather", real(4, 5), rows, axis=0)
    yield case("Gather", real(4, 5, 2), np.array([0, -1, 2]), axis=1)
    yield case("GatherElements", real(4, 5), rows, axis=1)
    yield case("GatherND", real(4, 5, 2), rows)
    yield case("GatherND", real(2, 5, 2), tuples, batch_dims=1)
    yield case("ScatterElements", real(4, 5), np.array([[0, 2], [3, 4]]), real(2, 2), axis=1)
    yield case("ScatterElements", real(4, 5), rows, real(2, 2), axis=1, reduction="add")
    for reduction in ("none", "add"):
        yield case("ScatterND", real(4, 5), np.array([[0], [2]]), real(2, 5), reduction=reduction)
    yield case("TopK", apart(3, 6), k=2, axis=1)
    taps = np.array([[0, 1], [1, 2], [2, 2]], np.int32)
    yield case("Resize", real(2, 3, 4), taps, real(3, 2), axis=1, wanted=(0,))
    for parts, inverse in ((1, False), (2, False), (2, True)):
        yield case("FFT", real(2, 8, parts), twiddles(8, inverse), factor=0.5, wanted=(0,))


def products() -> Iterator[Case]:
    yield case("MatMul", real(3, 4), real(4, 5))
    yield case("MatMul", real(2, 3, 4), real(4, 5), real(5))
    yield case("MatMul", real(2, 1, 3, 4), real(5, 4, 6))
    yield case("MatMul", real(4), real(4))
    yield case("MatMul", real(4), real(2, 4, 3))
    yield case("MatMul", real(2, 3, 4), real(4))
    for trans_a in (False, True):
        for trans_b in (False, True):
            a, b = real(2, *((4, 3) if trans_a else (3, 4))), real(*((5, 4) if trans_b else (4, 5)))
            yield case("MatMul", a, b, real(3, 1), trans_a=trans_a, trans_b=trans_b, alpha=0.5, beta=2.0)
    swapped = {"perm_a": (0, 2, 1, 3), "perm_b": (0, 2, 1, 3), "perm_y": (0, 2, 1, 3)}
    yield case("MatMul", real(2, 3, 4, 5), real(2, 5, 4, 6), **swapped)
    codes, scales = RANDOM.integers(0, 256, (3, 2, 4)).astype(np.uint8), positive(3, 2)
    few = {"inner": 13, "bits": 4, "block": 8}
    yield case("MatMulNBits", real(2, 3, 13), codes, scales, wanted=(0, 2), **few)
    yield case("MatMulNBits", real(13), codes, scales, codes[..., 0] & 15, wanted=(0, 2), **few)
    attention = (real(2, 3, 4, 5), real(2, 6, 2, 5), real(2, 6, 2, 7))
    yield case("FusedAttention", *attention, scale=0.4)
    yield case("FusedAttention", *attention, scale=0.4, causal=True, first=2)
    yield case("LimitedAttention", *attention, scale=0.4, causal=True, first=2, window=3, cap=1.5)


def samplings() -> Iterator[Case]:
    for padding in ("zeros", "border", "reflection"):
        for mode in ("nearest", "linear", "cubic"):
            for aligned in (False, True):
                fields = {"mode": mode, "padding": padding, "align_corners": aligned}
                wanted = (0,) if mode == "nearest" else (0, 1)
                yield case("GridSample", real(2, 3, 4, 5), 1.1 * apart(2, 3, 2, 2), wanted=wanted, **fields)
    yield case("GridSample", real(1, 2, 5), apart(1, 7, 1))
    yield case("GridSample", real(1, 1, 2, 3, 4), apart(1, 2, 2, 1, 3))
    yield case("GridSample", real(1, 1, 1, 3), apart(1, 2, 2, 2), padding="reflection", align_corners=True)


def pools() -> Iterator[Case]:
    for taps in (2, 3):
        for stride in (1, 2, 3):
            for pad, dilation in ((0, 1), (1, 1), (1, 2)):
                fields = {
                    "kernel": (taps, taps), "strides": (stride, stride), "padding": (pad, pad, 0, pad),
                    "dilations": (dilation, 1),
                }  # fmt: skip
                yield case("MaxPool", apart(2, 2, 8, 9), **fields)
                yield case("AveragePool", real(2, 2, 8, 9), count_pads=bool(stride % 2), **fields)
                last: dict[str, Any] = {**fields, "channels_last": True}
                yield case("MaxPool", apart(2, 8, 9, 2), **last)
                yield case("AveragePool", real(2, 8, 9, 2), count_pads=bool(stride % 2), **last)
    one_axis = {"kernel": (3,), "strides": (2,), "padding": (0, 0), "dilations": (1,)}
    yield case("AveragePool", real(2, 3, 9), uncounted=(0,), **one_axis)
    yield case("MaxPool", apart(2, 3, 9), **one_axis)
    yield case("AveragePool", real(2, 9, 3), uncounted=(0,), channels_last=True, **one_axis)
    yield case("MaxPool", apart(2, 9, 3), channels_last=True, **one_axis)
    yield case("AveragePool", real(2, 3, 4, 5), kernel=(4, 5))
    yield case("AveragePool", real(2, 4, 5, 3), kernel=(4, 5), channels_last=True)


ALL = [functions, arithmetic, reductions, normalisations, movement, products, samplings, pools]


def all_cases() -> list[Case]:
    return [found for family in ALL for found in family()]
