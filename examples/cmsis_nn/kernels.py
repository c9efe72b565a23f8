"""CMSIS-NN's kernels for int8, with a copy of the library that the user has:

    tilewright run model.tflite --target cortex-m4 --kernels examples/cmsis_nn:path=/where/CMSIS-NN/is

Layers that CMSIS-NN computes to the bit are given to it: those with TensorFlow Lite's two roundings. Channels are last
throughout, as CMSIS-NN wants them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from tilewright.ir.affine import whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._rearranged import RearrangedConv
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.own_kernels import Kernel, Library, Offer, OwnKernels
from tilewright.target.params import params_of

Types = Mapping[str, TensorType]
ROUNDING = "double"
"""Of TensorFlow Lite's roundings, the one that CMSIS-NN has unless it is compiled otherwise."""
FASTEST = ("-O3", "-DOPTIONAL_RESTRICT_KEYWORD=__restrict")
"""As its authors advise where speed counts more than bytes."""
ALIGNMENT = 4
"""Elements that rows of arm_convolve_s8's working memory are a multiple of."""


# ---- what is refused ------------------------------------------------------------------------------------------------


def rounds_otherwise(requant: Requant | None) -> str | None:
    if requant is None:
        return "its totals stay in 32 bits, CMSIS-NN requantises them"
    if requant.rounding != ROUNDING:
        return f"it is rounded {requant.rounding}, CMSIS-NN rounds as TensorFlow Lite Micro does ({ROUNDING})"
    return None


def not_for_conv(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if is_depthwise(conv, types["W"].shape):
        return not_for_filters(conv, types) or "depthwise convolutions have a kernel of their own"
    if set(types["W"].shape[1:-1]) == {1} and any(conv.padding):
        return "a 1 x 1 convolution with padding: CMSIS-NN would read beyond the image"
    return not_for_filters(conv, types)


def not_for_filters(conv: Conv, types: Types) -> str | None:
    if not conv.channels_last:
        return "it is not channels last"
    if conv.w_zero:
        return f"its weights have the zero point {conv.w_zero}, CMSIS-NN's have none"
    if min(conv.padding) < 0:
        return "it has negative padding"
    filters = types["Y"].shape[-1]
    if "B" in types and types["B"].shape != (filters,):
        return "it has one bias for all filters"
    if "mul" in types and {types[name].shape for name in ("mul", "add") if name in types} != {(filters,)}:
        return "it has one scale for all filters"
    return rounds_otherwise(conv.requant)


def not_for_depthwise(op: Op, types: Types) -> str | None:
    return not_for_filters(cast(TapsFirst, op).conv, types)


def not_for_product(op: Op, types: Types) -> str | None:
    product = cast(MatMul, op)
    fields = params_of(product, types)
    rows, inner, columns = (cast(int, fields[name]) for name in ("rows", "inner", "columns"))
    if fields["rank"] or fields["a_column"] != 1 or (rows > 1 and fields["a_row"] != inner):
        return "A is not rows one after the other"
    if fields["b_row"] != 1 or (columns > 1 and fields["b_column"] != inner):
        return "B is not columns one after the other"
    if columns > 1 and (fields["y_column"] != 1 or (rows > 1 and fields["y_row"] != columns)):
        return "Y is not rows one after the other"
    if product.b_zero:
        return f"its weights have the zero point {product.b_zero}"
    if "C" in types and (fields["c_row"] or types["C"].elements != columns):
        return "it does not have one bias for each column"
    if "mul" in types and (fields["mul_row"] or fields["mul_column"] != fields["add_column"]):
        return "it is scaled row by row"
    return rounds_otherwise(product.requant)


def is_no_mean(x_zero: int, mul: int, requant: Requant) -> str | None:
    if x_zero or mul != 1 or requant.shift or requant.zero_point or requant.rounding != "half_away":
        return "it also changes the scale, CMSIS-NN's average does not"
    return None


def not_for_mean(op: Op, types: Types) -> str | None:
    mean = cast(QLinearReduceMean, op)
    if mean.axes != (1, 2) or len(types["X"].shape) != 4:
        return f"it is the mean over the axes {mean.axes}, CMSIS-NN's is that over an image"
    return is_no_mean(mean.x_zero, mean.mul, mean.requant)


def not_for_pool(op: Op, types: Types) -> str | None:
    pool = cast(QLinearAveragePool | MaxPool, op)
    if not pool.channels_last:
        return "it is not channels last"
    if set(pool.dilations) != {1}:
        return "it has dilations"
    return is_no_mean(pool.x_zero, pool.mul, pool.requant) if isinstance(pool, QLinearAveragePool) else None


def not_for_sum(op: Op, types: Types) -> str | None:
    if len({types[name].shape for name in ("A", "B", "Y")}) != 1:
        return "its operands have different shapes"
    return rounds_otherwise(cast(TfliteAdd, op).requant)


# ---- depthwise: weights with channels last --------------------------------------------------------------------------


@dataclass(frozen=True)
class TapsFirst(RearrangedConv):
    """A depthwise convolution, channels last, with weights [height, width, filters]."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "mul?", "add?")
    conv: Conv = field(default_factory=Conv)

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        height, width, filters = shapes["W"]
        return {**shapes, "W": (filters, height, width, 1)}

    def plain_types(self, types: Types) -> dict[str, TensorType]:
        return {**types, "W": TensorType("int8", self.plain_shapes({"W": types["W"].shape})["W"])}

    def index(self, shapes: Shapes) -> Index:
        return {**self.conv.index(self.plain_shapes(shapes)), "W": tuple(map(whole, shapes["W"]))}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes(dtypes)

    def numpy(self, X: Array, W: Array, *rest: Array | None, **named: Array) -> Array:
        return self.conv.numpy(X, np.moveaxis(W, -1, 0)[..., None], *rest, **named)


def is_depthwise(conv: Conv, weights: Shape) -> bool:
    return conv.groups > 1 and weights[-1 if conv.channels_last else 1] == 1


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Depthwise convolutions with their weights in CMSIS-NN's order."""
    op, operands = node.op, node.operands()
    weights = graph.constants.get(operands.get("W", ""))
    if not isinstance(op, Conv) or weights is None or op.rank != 2 or not op.channels_last:
        return []
    if weights.dtype != np.int8 or not is_depthwise(op, weights.shape):
        return []
    arranged = f"{node.key}_taps_first"
    inputs = (node.inputs[0], arranged, *node.inputs[2:])
    return [Offer(TapsFirst(op), inputs, {arranged: np.ascontiguousarray(np.moveaxis(weights[..., 0], 0, -1))})]


# ---- working memory, as the library's get_buffer_size functions have it without MVE ---------------------------------


def conv_scratch(op: Op, types: Types) -> int:
    conv, (_, height, width, channels) = cast(Conv, op), (*types["W"].shape[:1], *image(types["W"].shape))
    if height == width == 1 and conv.groups == 1 and set(conv.dilations) == {1}:
        return 0
    row = height * width * channels * conv.groups
    return 2 * 2 * (row + -row % ALIGNMENT)


def depthwise_scratch(op: Op, types: Types) -> int:
    conv, (height, width, filters) = cast(TapsFirst, op).conv, types["W"].shape
    fast = filters == conv.groups and types["X"].shape[0] == 1 and set(conv.dilations) == {1}
    if not fast or (height == width == 3 and max(conv.padding[:2]) <= 1):
        return 0
    return 2 * height * width * filters


def pool_scratch(op: Op, types: Types) -> int:
    return 4 * types["X"].shape[-1]


def image(shape: Shape) -> Shape:
    """Height, width and channels of [n, height, width, channels] or [n, width, channels]."""
    return shape[1:] if len(shape) == 4 else (1, *shape[1:])


# ---- parameters -----------------------------------------------------------------------------------------------------


def mean_params(op: Op, types: Types) -> Params:
    """A pool whose window is the image."""
    (batch, height, width, channels), requant = types["X"].shape, cast(QLinearReduceMean, op).requant
    return {
        "batch": batch, "channels": channels, "in_h": height, "in_w": width, "out_h": 1, "out_w": 1,
        "kernel_h": height, "kernel_w": width, "stride_h": 1, "stride_w": 1, "pad_top": 0, "pad_left": 0,
        "low": requant.low, "high": requant.high,
    }  # fmt: skip


def pool_params(op: Op, types: Types) -> Params:
    fields = {name: value for name, value in params_of(cast(MaxPool, op), types).items() if name in POOL_FIELDS}
    requant = op.requant if isinstance(op, QLinearAveragePool) else None
    return fields | {"low": requant.low if requant else -128, "high": requant.high if requant else 127}


POOL_FIELDS = (
    "batch", "channels", "in_h", "in_w", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_top",
    "pad_left",
)  # fmt: skip


REFUSED = {
    TfliteSoftmax: "its exponentials are a table that is made at compile time, CMSIS-NN computes them at run time",
    QLinearAdd: "it has become one multiplication for each summand, with the same results; CMSIS-NN has three",
}
FILTERS = "X:int8 W:int8 B:int32 mul:int32 add:int32 -> Y:int8"


def kernels(path: str) -> OwnKernels:
    """`path`: of CMSIS-NN, with Include and Source."""
    return OwnKernels(
        (
            Kernel(
                Conv, "cmsis_conv.c", FILTERS, {}, scratch=conv_scratch, unsupported_reason=not_for_conv,
                header="conv.h",
            ),
            Kernel(
                TapsFirst, "cmsis_depthwise.c", FILTERS, {}, scratch=depthwise_scratch,
                unsupported_reason=not_for_depthwise, header="conv.h",
            ),
            Kernel(
                MatMul, "cmsis_product.c", "A:int8 B:int8 C:int32 mul:int32 add:int32 -> Y:int8", {},
                unsupported_reason=not_for_product, header="matmul.h",
            ),
            Kernel(
                QLinearReduceMean, "cmsis_average.c", "X:int8 -> Y:int8", {}, mean_params, pool_scratch, not_for_mean,
                header="cmsis_pool.h",
            ),
            Kernel(
                QLinearAveragePool, "cmsis_average.c", "X:int8 -> Y:int8", {}, pool_params, pool_scratch, not_for_pool,
                header="cmsis_pool.h",
            ),
            Kernel(
                MaxPool, "cmsis_max.c", "X:int8 -> Y:int8", {}, pool_params, unsupported_reason=not_for_pool,
                header="cmsis_pool.h",
            ),
            Kernel(
                TfliteAdd, "cmsis_add.c", "A:int8 B:int8 -> Y:int8", {}, unsupported_reason=not_for_sum,
                header="tfliteadd.h",
            ),
        ),
        forms=forms, refused=REFUSED, layout="channels_last",
        library=Library(path, sources=("Source/**/*.c",), includes=("Include",)),
        flags=FASTEST, every_product=True,
    )  # fmt: skip
