"""Kernels of bytes: what they take, and the forms of constants that they want."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.relu import Relu
from tilewright.passes import Pass
from tilewright.passes.late_zero_points import LATE_ZERO_POINTS, bytes_and_zero
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout
from tilewright.passes.layout.transposed_factors import TRANSPOSED_FACTORS
from tilewright.passes.merge_equal import MERGE_EQUAL
from tilewright.passes.quantise_early import QUANTISE_EARLY
from tilewright.passes.ranges.quantised_range import QUANTISED_RANGES, QuantisedRange
from tilewright.passes.ranges.symmetric_range import SYMMETRIC_RANGES, SymmetricRange
from tilewright.passes.tabulate import TABULATE_JOINED
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_for, params_of
from tilewright.target.processors import Dot, Vectors
from tilewright.target.structs.common import activation_params
from tilewright.target.target import Offer
from tilewright.targets.cpu import (
    byte_elements,
    byte_sums,
    quantised_concat,
    quantised_slices,
)
from tilewright.targets.cpu.byte_differences import BYTE_DIFFERENCES
from tilewright.targets.cpu.costing import (
    computed_samples,
    packed_samples,
    quantised_concat_samples,
    range_samples,
    scaled_samples,
    symmetric_samples,
)
from tilewright.targets.cpu.followed import followed_pass
from tilewright.targets.cpu.packed_forms import (
    FOUR,
    WHOLE_WINDOW,
    Block,
    ComputedProduct,
    LaneDepthwise,
    PackedConvolution,
    PackedDepthwise,
    PackedProduct,
    TapDepthwise,
    depthwise_form,
    up,
)
from tilewright.targets.cpu.packed_offers import offers
from tilewright.targets.cpu.quantised_concat import QUANTISED_CONCATS
from tilewright.targets.cpu.quantised_slices import QUANTISED_SLICES
from tilewright.targets.cpu.scaled_forms import ScaledProduct
from tilewright.targets.cpu.scaled_products import scaled_pass
from tilewright.targets.cpu.sizes import in_c
from tilewright.targets.generic.linear import FLOAT, INTEGER_MATMUL, NARROW_MATMUL, TOTALS

MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""
MOST_ROWS, WIDENED_ROWS = 8, 7
"""TW_ROWS in C, at the most: pixels that are computed together; and where numbers are widened to be multiplied."""
STRIP_PIXELS = (64, 256)
"""At least and at most: pixels that meet a block of filters while both are in the nearest cache."""
STRIP_BYTES = 16384
"""That such pixels read for the first time."""
BAND_BYTES = 32768
"""Of rows of an image that are read again for every block of channels."""
TILE_ROWS, TILED_ROWS, TILE_BYTES = 16, 32, 64
"""Rows of a tile, those of two, and bytes of each."""
PANEL_BYTES = 65536
"""Of columns that are packed at a time."""


def _worth(of: frozenset[str], graph: Graph, node: Node) -> int:
    if not isinstance(node.op, Conv):
        return 0
    types = [graph.types[name].dtype for name in (bytes_and_zero(graph, node.inputs[0])[0], node.inputs[1])]
    return graph.macs(node) // MACS_PER_BYTE if of.issuperset(types) else 0


OF_BYTES, OF_FLOATS = partial(_worth, NARROW), partial(_worth, FLOAT)
LAST = ChannelPosition(channels_last=True, worth=OF_BYTES, keeps=OF_FLOATS)
LAYOUTS: tuple[Pass, ...] = (
    BYTE_DIFFERENCES,
    QUANTISE_EARLY,
    QUANTISED_CONCATS,
    QUANTISED_SLICES,
    TRANSPOSED_FACTORS,
    MERGE_EQUAL,
    TABULATE_JOINED,
    Pass("channels last of bytes", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST)),
)


def passes(vectors: Vectors) -> tuple[Pass, ...]:
    block = block_of(vectors)
    return (
        *LAYOUTS,
        QUANTISED_RANGES,
        SYMMETRIC_RANGES,
        scaled_pass(block),
        LATE_ZERO_POINTS,
        followed_pass(block),
    )


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    added = byte_sums.offer(graph, node)
    return offers(block_of(vectors), graph, node) if added is None else [added]


def block_of(vectors: Vectors) -> Block:
    """Of TW_COLUMNS in C: totals of two registers."""
    return Block(vectors.bytes // 2, vectors.dot is Dot.WIDENING, vectors.has_tiles)


def conv_of(op: Op, types: Types) -> tuple[PackedConvolution, Types]:
    """A product as the convolution that it is."""
    if isinstance(op, ScaledProduct):
        return conv_of(op.packed, op.plain_types(types))
    if isinstance(op, PackedProduct):
        return op.form, op.as_image(types)
    return instance(op, PackedConvolution), types


def window_bytes(op: PackedConvolution, types: Types) -> int:
    """Of a window that is gathered; 0 where windows are read where they are."""
    channels = types["X"].shape[-1] // op.conv.groups
    return up(math.prod(op.kernel) * channels, WHOLE_WINDOW) if op.gathers(channels) else 0


def strip_pixels(op: PackedConvolution, types: Types) -> int:
    least, most = STRIP_PIXELS
    fresh = window_bytes(op, types) or types["X"].shape[-1] * math.prod(op.conv.strides)
    return min(max(least, min(most, STRIP_BYTES // fresh)), max(1, math.prod(types["Y"].shape[1:-1])))


def is_padded(op: PackedConvolution, types: Types) -> bool:
    """Whether the image is copied: windows are gathered by whole vectors, which may reach behind it."""
    return any(op.conv.padding) or window_bytes(op, types) > 0


def tiled_bytes(op: PackedConvolution, types: Types) -> int:
    """Of windows that tiles are made of at a time; 0 where there are none, or a tile would not be filled."""
    window = window_bytes(op, types) or math.prod(op.kernel) * types["X"].shape[-1] // op.conv.groups
    is_filled = strip_pixels(op, types) >= TILE_ROWS and window >= TILE_BYTES
    return TILED_ROWS * window if op.block.has_tiles and is_filled else 0


def conv_params(op: Op, types: Types) -> Params:
    form, image = conv_of(op, types)
    return {
        **params_of(form, image), "strip": strip_pixels(form, image), "pieces": form.pieces,
        "window": window_bytes(form, image), "padded": int(is_padded(form, image)), "tiled": tiled_bytes(form, image),
    }  # fmt: skip


def scaled_params(op: Op, types: Types) -> Params:
    scaled = instance(op, ScaledProduct)
    return {
        "dot": conv_params(op, types), "filters": types["sums"].elements, "scales": types["scale"].elements,
        "biases": types["bias"].elements if "bias" in types else 0, "is_row_zero": int(types["zero"].elements > 1),
        "is_row_scale": int("row_scale" in types and types["row_scale"].elements > 1),
        **activation_params(scaled.activation),
    }  # fmt: skip


def band_rows(op: Op, types: Types) -> int:
    """Rows of results that all channels of a block are computed of before the next: what they read stays near."""
    width, channels = types["X"].shape[-2:]
    stride = instance(op, PackedDepthwise).conv.strides[0]
    return max(1, BAND_BYTES // max(width * channels * stride, 1))


def depthwise_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "strip": band_rows(op, types), "pieces": 1, "window": 0, "padded": 0, "tiled": 0}


def lane_params(op: Op, types: Types) -> Params:
    return {**params_of(op, types), "strip": 0, "pieces": 1, "window": 0, "padded": 0, "tiled": 0}


def panel_columns(op: Op, types: Types, columns: int) -> int:
    """Of the second operand that are packed at a time, in whole blocks."""
    fields = params_of(op, types)
    wanted, inner = cast(int, fields["columns"]), up(cast(int, fields["inner"]), FOUR)
    return max(columns, min(up(wanted, columns), PANEL_BYTES // max(inner, 1) // columns * columns))


def product_params(columns: int, op: Op, types: Types) -> Params:
    return {
        "product": params_of(op, types), "way": int(instance(op, ComputedProduct).way),
        "columns": panel_columns(op, types, columns),
    }  # fmt: skip


def product_unsupported(op: Op, types: Types) -> str | None:
    fields = params_of(op, types)
    if fields["y_column"] != 1 and fields["columns"] != 1:
        return "results of a row lie side by side"
    if fields["c_row"] or fields["mul_row"] or fields["add_row"]:
        return "rows have the same bias and factors"
    return None


def last_requantisation(op: Op, types: Types) -> str | None:
    return None if conv_of(op, types)[0].then is None else "nothing follows its requantisation"


def requantised_again(op: Op, types: Types) -> str | None:
    return None if conv_of(op, types)[0].then is not None and "R" not in types else "its bytes are requantised"


def added_to(op: Op, types: Types) -> str | None:
    return None if "R" in types else "its bytes are added to others"


SIGNATURE = "X W:int8 B:int32 mul:int32 add:int32 -> Y"
TWICE = "X W:int8 B:int32 mul:int32 add:int32 then_mul:int32 then_add:int32 -> Y"
SUM = "X W:int8 B:int32 mul:int32 add:int32 then_mul:int32 then_add:int32 R -> Y"
TYPES = {"X": NARROW, "Y": TOTALS}
FOLLOWED = {"X": NARROW, "R": NARROW, "Y": NARROW}
CONVOLUTIONS = tuple(
    Kernel(
        op,
        source,
        signature,
        types,
        conv_params,
        unsupported_reason=unsupported_reason,
        header="conv_dot.h",
        work=in_c.work("tw_conv_dot_work"),
    )
    for op in (PackedConvolution, PackedProduct)
    for source, signature, types, unsupported_reason in (
        ("conv_dot.c", SIGNATURE, TYPES, last_requantisation),
        ("conv_dot_twice.c", TWICE, FOLLOWED, requantised_again),
        ("conv_dot_sum.c", SUM, FOLLOWED, added_to),
    )
)


SCALED = Kernel(
    ScaledProduct,
    "conv_dot_scaled.c",
    "X W:int8 sums:int32 scale:float32 zero row_scale:float32 bias:float32 -> Y:float32",
    {"X": NARROW, "zero": NARROW},
    scaled_params,
    activations=(Relu, Clip),
    work=in_c.work("tw_conv_dot_scaled_work"),
)


@params_for(QuantisedRange)
def range_params(op: QuantisedRange, types: Types) -> Params:
    return {"count": types["X"].elements}


@params_for(SymmetricRange)
def symmetric_params(op: SymmetricRange, types: Types) -> Params:
    shape = types["X"].shape
    return {"rows": math.prod(shape[: op.rows]), "count": math.prod(shape[op.rows :]), "least": op.least}


def depthwise_kernel(block: Block) -> Kernel:
    """The one for what `depthwise_form` packs."""
    op = depthwise_form(block)
    lanes = in_c("tw_depthwise_lanes_scratch", block.columns // 2)
    source, params, scratch = {
        PackedDepthwise: ("depthwise_dot.c", depthwise_params, in_c("tw_depthwise_dot_scratch")),
        LaneDepthwise: ("depthwise_lanes.c", lane_params, lanes),
        TapDepthwise: ("depthwise_widening.c", lane_params, in_c("tw_depthwise_widening_scratch")),
    }[op]
    return Kernel(
        op, source, SIGNATURE, TYPES, params, scratch, header="conv_dot.h", work=in_c.work("tw_conv_dot_work")
    )


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    block = block_of(vectors)
    rows = WIDENED_ROWS if vectors.dot is Dot.WIDENING else MOST_ROWS
    first, *others = (replace(one, scratch=in_c("tw_conv_dot_scratch", rows)) for one in CONVOLUTIONS)
    scaled = replace(SCALED, scratch=in_c("tw_conv_dot_scaled_scratch", rows))
    return (
        replace(first, samples=partial(packed_samples, block)),
        *others,
        depthwise_kernel(block),
        replace(scaled, samples=partial(scaled_samples, block)),
        *byte_elements.kernels(vectors),
        replace(quantised_concat.KERNEL, samples=quantised_concat_samples),
        quantised_slices.KERNEL,
        Kernel(
            QuantisedRange, "quantised_range.c", "X:float32 -> Y:uint8 scale:float32 zero:uint8", {},
            samples=range_samples,
        ),
        Kernel(
            SymmetricRange, "symmetric_range.c", "X:float32 -> Y:int8 scale:float32", {}, samples=symmetric_samples
        ),
        Kernel(
            ComputedProduct, "matmul_dot.c", INTEGER_MATMUL, NARROW_MATMUL, partial(product_params, block.columns),
            in_c("tw_matmul_dot_scratch"), product_unsupported, header="matmul_dot.h",
            work=in_c.work("tw_matmul_dot_work"), samples=computed_samples,
        ),
    )  # fmt: skip
