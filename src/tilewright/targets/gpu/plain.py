"""Kernels that are plain and parallel: an item, or a group of items, for each result. Parameters are those of portable
kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.bitcast import BitCast
from tilewright.ops.clip import Clip
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.dequant import Dequant
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.identity import Identity
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quant import Quant
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.resize import Resize
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.slice import Slice
from tilewright.ops.softmax import Softmax
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.ops.where import Where
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic import dialect, elementwise, movement, quantised, reductions
from tilewright.targets.generic.linear import FLOAT, SUMMED, TOTALS, channels_second

EACH = "gpu_each.h"
"""Makes kernels for a GPU of portable ones that compute every result by itself."""
FEW_FILTERS = 8
"""In a group of channels: tiles of a product would be empty for the most part."""

WITHOUT_LOOPS = {Clip, Identity, BitCast, Where}
"""Element by element, but with loops of their own in the portable kernels."""


def each(kernel: Kernel) -> Kernel:
    return replace(kernel, around=EACH, features=None)


def few_filters(op: Op, types: Types) -> str | None:
    filters = types["W"].shape[0] // cast(Conv, op).groups
    many = None if filters < FEW_FILTERS else f"each group has {filters} filters"
    return channels_second(op, types) or many


def own(kernels: tuple[Kernel, ...], op: type[Op], source: str) -> tuple[Kernel, ...]:
    """The portable kernels of an operator with other C, in the same types."""
    found = [kernel for kernel in kernels if kernel.op is op][:1]
    return tuple(replace(kernel, source=source, header=kernel.params_header, features=None) for kernel in found)


CONVOLVED = "X W B mul:int32 add:int32 -> Y"
MULTIPLIED = "A B C mul:int32 add:int32 -> Y"
INTEGERS = {"X": SUMMED, "W": SUMMED, "B": frozenset({"int32"}), "Y": TOTALS}
FACTORS = {"A": SUMMED, "B": SUMMED, "C": frozenset({"int32"}), "Y": TOTALS}


def convolution(source: str, unsupported_reason: Callable[[Op, Types], str | None]) -> tuple[Kernel, ...]:
    return (
        Kernel(
            Conv, source, CONVOLVED, dict.fromkeys("XWBY", FLOAT), unsupported_reason=unsupported_reason,
            header="conv.h", activations=ACTIVATIONS,
        ),
        Kernel(Conv, source, CONVOLVED, INTEGERS, unsupported_reason=unsupported_reason, header="conv.h"),
    )  # fmt: skip


LINEAR = (
    *convolution("gpu_conv_direct.c", few_filters),
    *convolution("gpu_conv.c", channels_second),
    Kernel(
        MatMul, "gpu_matmul.c", MULTIPLIED, dict.fromkeys("ABCY", FLOAT), header="matmul.h", activations=ACTIVATIONS
    ),
    Kernel(MatMul, "gpu_matmul.c", MULTIPLIED, FACTORS, header="matmul.h"),
    Kernel(
        MaxPool, "gpu_maxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, unsupported_reason=channels_second,
        header="pool.h",
    ),
    Kernel(
        AveragePool, "gpu_averagepool.c", "X:float32 -> Y:float32", {}, unsupported_reason=channels_second,
        header="pool.h",
    ),
    Kernel(GlobalMaxPool, "gpu_globalmaxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="global_pool.h"),
    Kernel(GlobalAveragePool, "gpu_globalaveragepool.c", "X:float32 -> Y:float32", {}, header="global_pool.h"),
    Kernel(
        BatchNormalization, "gpu_batchnormalization.c",
        "X:float32 scale:float32 B:float32 mean:float32 var:float32 -> Y:float32", {}, header="batchnormalization.h",
    ),
)  # fmt: skip

ELEMENTS = (
    *(each(kernel) for kernel in elementwise.KERNELS if kernel.op not in WITHOUT_LOOPS),
    Kernel(Clip, "gpu_clip.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="clip.h"),
    *own(elementwise.KERNELS, Identity, "gpu_same.c"),
    *own(elementwise.KERNELS, BitCast, "gpu_same.c"),
    *own(elementwise.KERNELS, Where, "gpu_where.c"),
)

ROWS = (
    *(each(kernel) for kernel in reductions.KERNELS if kernel.header == "reduce.h"),
    *(
        kernel
        for op, source in (
            (Softmax, "gpu_softmax.c"), (LogSoftmax, "gpu_softmax.c"), (LayerNormalization, "gpu_layer_norm.c"),
            (RMSNormalization, "gpu_rms_norm.c"), (GroupNormalization, "gpu_group_norm.c"),
        )
        for kernel in own(reductions.KERNELS, op, source)
    ),
)  # fmt: skip

MOVEMENT = tuple(
    kernel
    for op, source in (
        (Transpose, "gpu_copied.c"), (Slice, "gpu_copied.c"), (Expand, "gpu_copied.c"), (Concat, "gpu_concat.c"),
        (Gather, "gpu_gather.c"), (Pad, "gpu_pad.c"), (Resize, "gpu_resize.c"),
    )
    for kernel in own(movement.KERNELS, op, source)
)  # fmt: skip

QUANTISED = (
    *(each(kernel) for kernel in quantised.KERNELS if kernel.op in (QLinearAdd, QLinearMul, TfliteAdd)),
    *(
        kernel
        for op, source in (
            (QuantizeLinear, "gpu_quantizelinear.c"), (DequantizeLinear, "gpu_dequantizelinear.c"),
            (Lookup, "gpu_lookup.c"), (QLinearReduceMean, "gpu_qlinearreducemean.c"),
            (QLinearAveragePool, "gpu_qlinearaveragepool.c"),
        )
        for kernel in own(quantised.KERNELS, op, source)
    ),
    *(
        kernel
        for op, source in (
            (RequantShift, "gpu_requantshift.c"), (RequantizedAdd, "gpu_requantizedadd.c"),
            (Quant, "gpu_quant.c"), (Dequant, "gpu_dequant.c"),
        )
        for kernel in own(dialect.KERNELS, op, source)
    ),
)  # fmt: skip

KERNELS = (*LINEAR, *ELEMENTS, *ROWS, *MOVEMENT, *QUANTISED)
