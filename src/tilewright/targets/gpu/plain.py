"""Kernels that are plain and parallel: an item, or a group of items, for each result. Parameters are those of portable
kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from tilewright.ir.half_floats import HALF
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.bitcast import BitCast
from tilewright.ops.cast import Cast
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
from tilewright.ops.writerows import WriteRows
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic import dialect, elementwise, movement, quantised, reductions
from tilewright.targets.generic.linear import FLOAT, SUMMED, TOTALS, channels_second

EACH = "gpu_each.h"
"""Makes kernels for a GPU of portable ones that compute every result by itself."""
FEW_FILTERS = 8
"""In a group of channels: tiles of a product would be empty for the most part."""
MOST_HELD, HELD_PIECE = 1024, 16
"""Elements of a row that the registers of a warp hold, and bytes of it that are read at once."""
LONG = 4096
"""Elements of a row that a large group looks for the largest of."""

WITHOUT_LOOPS = {Clip, Identity, BitCast, Where}
"""Element by element, but with loops of their own in the portable kernels."""


def each(kernel: Kernel) -> Kernel:
    return replace(kernel, around=EACH, features=None)


def stored(kernel: Kernel, short: str, either: str = "") -> tuple[Kernel, ...]:
    """A kernel for each type that floats are stored in: the operands and results in `short` have that type, those in
    `either` that or float32."""
    names = (*short.split(), *either.split())
    words = (
        word.removesuffix(":float32") if word.partition(":")[0] in names else word for word in kernel.signature.split()
    )
    plain = replace(kernel, signature=" ".join(words), dtypes={**kernel.dtypes, **dict.fromkeys(names, FLOAT)})
    return (plain, *in_16_bits(plain, short, either))


def in_16_bits(kernel: Kernel, short: str, either: str = "") -> Iterator[Kernel]:
    """The same kernel of floats in 16 bits alone."""
    for dtype in HALF:
        own = dict.fromkeys(short.split(), frozenset({dtype})) | dict.fromkeys(either.split(), FLOAT | {dtype})
        yield replace(kernel, dtypes={**kernel.dtypes, **own})


def in_all_widths(kernel: Kernel) -> Iterator[Kernel]:
    """A kernel of elements, and where it takes floats, those of floats in 16 bits. Of two operands one may be in 32."""
    yield kernel
    floats = [one for one in kernel.arguments() if "float32" in (kernel.allowed(one) or ())]
    operands = [one.stem for one in floats if not one.is_result]
    results = [one.stem for one in floats if one.is_result]
    if len(operands) == 1:
        yield from in_16_bits(kernel, " ".join([*operands, *results]))
    elif operands:
        yield from in_16_bits(kernel, " ".join(results), " ".join(operands))


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
        *stored(
            Kernel(
                Conv, source, CONVOLVED, {"B": FLOAT}, unsupported_reason=unsupported_reason, header="conv.h",
                activations=ACTIVATIONS,
            ),
            "X W Y",
        ),
        Kernel(Conv, source, CONVOLVED, INTEGERS, unsupported_reason=unsupported_reason, header="conv.h"),
    )  # fmt: skip


def pools(suffix: str, unsupported_reason: Callable[[Op, Types], str | None]) -> Iterator[Kernel]:
    largest, mean = (
        Kernel(
            op,
            f"gpu_{stem}{suffix}.c",
            "X -> Y",
            {"X": NUMBERS, "Y": NUMBERS},
            unsupported_reason=unsupported_reason,
            header="pool.h",
        )
        for op, stem in ((MaxPool, "maxpool"), (AveragePool, "averagepool"))
    )  # fmt: skip
    yield from in_all_widths(largest)
    yield from stored(mean, "X Y")


LINEAR = (
    *convolution("gpu_conv_direct.c", few_filters),
    *convolution("gpu_conv.c", channels_second),
    *stored(Kernel(MatMul, "gpu_matmul.c", MULTIPLIED, {}, header="matmul.h", activations=ACTIVATIONS), "A B Y", "C"),
    Kernel(MatMul, "gpu_matmul.c", MULTIPLIED, FACTORS, header="matmul.h"),
    *pools("", channels_second),
    *in_all_widths(
        Kernel(GlobalMaxPool, "gpu_globalmaxpool.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="global_pool.h")
    ),
    *stored(Kernel(GlobalAveragePool, "gpu_globalaveragepool.c", "X -> Y", {}, header="global_pool.h"), "X Y"),
    *stored(
        Kernel(
            BatchNormalization, "gpu_batchnormalization.c",
            "X scale:float32 B:float32 mean:float32 var:float32 -> Y", {}, header="batchnormalization.h",
        ),
        "X Y",
    ),
)  # fmt: skip


def is_short_cast(kernel: Kernel) -> bool:
    return not set(HALF).isdisjoint(kernel.dtypes["X"] | kernel.dtypes["Y"])


def casts() -> Iterator[Kernel]:
    """Between floats of 16 bits and of 32: kernels convert whatever they read and write."""
    (plain,) = (kernel for kernel in elementwise.KERNELS if kernel.op is Cast and kernel.source == "cast.c")
    for dtype in HALF:
        short = frozenset({dtype})
        yield replace(each(plain), dtypes={"X": short, "Y": FLOAT})
        yield replace(each(plain), dtypes={"X": FLOAT, "Y": short})


ELEMENTS = (
    *(
        short
        for kernel in elementwise.KERNELS
        if kernel.op not in (*WITHOUT_LOOPS, Cast)
        for short in in_all_widths(each(kernel))
    ),
    *(each(kernel) for kernel in elementwise.KERNELS if kernel.op is Cast and not is_short_cast(kernel)),
    *casts(),
    *in_all_widths(Kernel(Clip, "gpu_clip.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="clip.h")),
    *own(elementwise.KERNELS, Identity, "gpu_same.c"),
    *own(elementwise.KERNELS, BitCast, "gpu_same.c"),
    *(short for kernel in own(elementwise.KERNELS, Where, "gpu_where.c") for short in in_all_widths(kernel)),
)


def short_rows(op: Op, types: Types) -> str | None:
    length = cast(int, params_of(op, types)["length"])
    return None if length >= LONG else f"rows have {length} elements, at least {LONG} are expected"


def too_long_to_hold(op: Op, types: Types) -> str | None:
    length, x = cast(int, params_of(op, types)["length"]), types["X"]
    if length > MOST_HELD or length * BYTES[x.dtype] % HELD_PIECE:
        return f"rows have {length} elements: it takes up to {MOST_HELD}, {HELD_PIECE} bytes at a time"
    return None


def held_rows() -> Iterator[Kernel]:
    for kernel in own(reductions.KERNELS, LayerNormalization, "gpu_layer_norm_held.c"):
        yield from stored(replace(kernel, unsupported_reason=too_long_to_hold), "X Y")


def extremes() -> Iterator[Kernel]:
    for kernel in reductions.KERNELS:
        if kernel.op in (ArgMax, ArgMin):
            yield replace(kernel, around="gpu_extreme_long.h", unsupported_reason=short_rows)
            yield replace(kernel, around="gpu_extreme.h")


ROWS = (
    *extremes(),
    *held_rows(),
    *(
        short
        for kernel in reductions.KERNELS
        if kernel.header == "reduce.h"
        for short in in_all_widths(each(kernel))
    ),
    *(
        short
        for op, source in (
            (Softmax, "gpu_softmax.c"), (LogSoftmax, "gpu_softmax.c"), (LayerNormalization, "gpu_layer_norm.c"),
            (RMSNormalization, "gpu_rms_norm.c"), (GroupNormalization, "gpu_group_norm.c"),
        )
        for kernel in own(reductions.KERNELS, op, source)
        for short in stored(kernel, "X Y")
    ),
)  # fmt: skip

MOVEMENT = tuple(
    kernel
    for op, source in (
        (Transpose, "gpu_copied.c"), (Slice, "gpu_copied.c"), (Expand, "gpu_copied.c"), (Concat, "gpu_concat.c"),
        (Gather, "gpu_gather.c"), (WriteRows, "gpu_write_rows.c"),
    )
    for kernel in own(movement.KERNELS, op, source)
)  # fmt: skip

FILLED = (
    *(short for kernel in own(movement.KERNELS, Pad, "gpu_pad.c") for short in in_all_widths(kernel)),
    *(short for kernel in own(movement.KERNELS, Resize, "gpu_resize.c") for short in stored(kernel, "X Y")),
)
"""Kernels that make elements besides those that they move."""

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

KERNELS = (*LINEAR, *ELEMENTS, *ROWS, *MOVEMENT, *FILLED, *QUANTISED)
