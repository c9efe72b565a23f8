"""What the cycles of kernels grow with: work of the core that has most of it, in the units that the C works in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.requant import NATIVE, Requant
from tilewright.ops.conv import Conv
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantshift import RequantShift
from tilewright.target.kernel import Types
from tilewright.targets.siracusa.conv_strips import Strips, is_pointwise, padded_bytes, strips_of
from tilewright.targets.siracusa.depthwise_planes import Planes, pitch_of

Extents = Mapping[str, int]

FEW = 4
"""Elements of a channel: as TW_FEW of requantshift_columns.c."""


def up(count: int, unit: int) -> int:
    """How many units are begun."""
    return -(-count // unit)


def is_exact(requant: Requant | None, types: Types) -> bool:
    """Whether totals are requantised in 64 bits, as far as that shows in the types; columns.h has the rules."""
    if requant is None or requant.has_exponents:
        return requant is not None
    return (requant.shift > 31 or requant.rounding == "half_even") and "add" in types


def is_high_word(requant: Requant | None, types: Types) -> bool:
    """Whether the high word of a product with its factor is enough: TW_HIGH in columns.h."""
    return requant is not None and requant.shift > 32 and "add" not in types


def is_one_by_one(requant: Requant | None, zero: int, types: Types) -> bool:
    """The same where also a zero point of the second factor leads to totals that are requantised one by one."""
    return is_exact(requant, types) or (requant is not None and zero != 0)


def is_looked_at(requant: Requant | None) -> bool:
    """Whether factors and weights decide how totals are requantised: not where hardware's way is asked for."""
    return requant is not None and requant.rounding != NATIVE


# ---- pools ----------------------------------------------------------------------------------------------------------


def pool_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, pixels, taps of their windows, and of these eight channels at a time and those left of them."""
    channels, taps = extents["c"], extents.get("r", 1) * extents["s"]
    pixels = up(prod(extents.values()) // (channels * taps), cores)
    whole, rest = divmod(channels, 8)
    return 1.0, float(pixels), float(pixels * taps), float(pixels * taps * whole), float(pixels * taps * rest)


# ---- matrix products ------------------------------------------------------------------------------------------------


def product_sizes(types: Types, extents: Extents) -> tuple[int, int, int, int]:
    """Matrices, rows, length of the sum and columns. A batch of rows on one matrix is one matrix."""
    batches = prod(size for loop, size in extents.items() if loop not in ("m", "n", "k"))
    rows, inner, columns = (extents.get(loop, 1) for loop in "mkn")
    shared = prod(types["B"].shape[:-2]) == 1
    return (1, batches * rows, inner, columns) if shared else (batches, rows, inner, columns)


def product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips, blocks of four rows and columns, those that are requantised, their words and what is left of
    them; rows alone and their words; packed bytes and matrices; results that are stored one by one, and those that are
    requantised in 64 bits; columns with factors or a bias of their own, and blocks of high words of products; and
    results of 16 bits."""
    product = cast(MatMul, op)
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, blocks, words = columns if columns < 4 else up(columns, 4), up(rows, 4), up(inner, 4)
    whole = matrices * strips
    parts = 1 if whole % cores == 0 or whole >= 4 * cores else min(blocks, cores)
    own = up(whole * parts, cores)
    alone = rows < 4 or columns < 4
    some = 0.0 if alone else own * up(blocks, parts)
    single = float(own * up(rows, parts)) if alone else 0.0
    packs_a = product.trans_a or bool(product.perm_a)
    packs_b = not product.trans_b or bool(product.perm_b)
    packed = matrices * inner * (packs_a * rows + packs_b * columns) / cores
    copies = float(up(matrices, cores) * (packs_a + packs_b))
    is_scattered = rows > 1 and bool(product.perm_y) and product.perm_y[-1] != len(product.perm_y) - 1
    scattered = 16 * some + 4 * single if is_scattered else 0.0
    return (
        1.0, float(own), some, some * (product.requant is not None), some * (inner // 4), some * (inner % 4), single,
        single * words, packed, copies, scattered,
        (16 * some + 4 * single) * is_one_by_one(product.requant, product.b_zero, types),
        float(own) * any(types[name].elements > 1 for name in ("C", "mul", "add") if name in types),
        some * is_high_word(product.requant, types), (16 * some + 4 * single) * (types["Y"].dtype == "int16"),
    )  # fmt: skip


def few_rows_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, rows of them, those that are requantised in 64 bits, and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips = up(matrices * up(columns, 4), cores)
    own = float(strips * rows)
    exact = own * is_exact(cast(MatMul, op).requant, types)
    return 1.0, float(matrices), float(strips), own, exact, own * up(inner, 4)


def few_quantised_rows_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The same; strips with factors of their own, and rows of strips that are requantised by the high words of their
    products; rows of strips with results of 16 bits."""
    found, requant = few_rows_features(op, types, extents, cores), cast(MatMul, op).requant
    strips, own = found[2:4]
    differ = "mul" in types and types["mul"].elements > 1
    is_high = requant is not None and requant.shift > 32 and not is_exact(requant, types)
    return *found, strips * differ, own * is_high, own * (types["Y"].dtype == "int16")


def word_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, and rows of them."""
    matrices, rows, _, columns = product_sizes(types, extents)
    strips = matrices * up(columns, 4)
    return 1.0, float(up(strips, cores)), float(up(strips * rows, cores))


def word_row_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows, and strips of four of their columns."""
    matrices, rows, _, columns = product_sizes(types, extents)
    own = up(matrices * rows, cores)
    return 1.0, float(own), float(own * up(columns, 4))


def across_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, words of columns that are transposed, blocks of four rows and columns and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, words = matrices * up(columns, 4), up(inner, 4)
    blocks = up(strips * up(rows, 4), cores)
    return 1.0, float(up(strips, cores) * words), float(blocks), float(blocks * words)


def alike_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, blocks of four rows and columns and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips, blocks = matrices * up(columns, 4), up(rows, 4)
    parts = 1 if strips % cores == 0 or strips >= 4 * cores else min(blocks, cores)
    own = up(strips * parts, cores)
    some = own * up(blocks, parts)
    return 1.0, float(own), float(some), float(some * up(inner, 4))


def float_product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four rows and columns, their products; blocks of several cores share an adder."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    blocks = up(matrices * up(rows, 4) * up(columns, 4), cores)
    shared = float(blocks * inner) if cores > 1 else 0.0
    return 1.0, float(blocks), float(blocks * inner), shared


# ---- requantisation -------------------------------------------------------------------------------------------------


def requantised_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, elements with one factor for all; elements with factors of their own, and channels; elements that are
    requantised in 64 bits; elements of channels that have few."""
    elements, channels = prod(extents.values()), types["mul"].elements
    exact = is_exact(cast(RequantShift, op).requant, types)
    if channels == 1:
        return 1.0, elements / cores, 0.0, 0.0, elements / cores * exact, 0.0
    own = up(channels, cores)
    each = elements / channels
    if each < FEW:
        return 1.0, 0.0, 0.0, 0.0, 0.0, own * each
    return 1.0, 0.0, own * each, float(own), own * each * exact, 0.0


# ---- bytes, element by element and row by row -----------------------------------------------------------------------


def binary_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows of byte_binary.h that a core has a part of, and its elements."""
    rows, length = joined_rows(types, extents)
    if rows < cores:
        return 1.0, float(rows), float(rows * 4 * up(length, 4 * cores))
    own = up(rows, cores)
    return 1.0, float(own), float(own * length)


def joined_rows(types: Types, extents: Extents) -> tuple[int, int]:
    """Rows of two operands and how long they are, loops joined that both or one and the same go along."""
    rows, length, joined = 1, 1, None
    for axis, extent in enumerate(reversed(list(extents.values())), 1):
        shapes = [types[name].shape for name in "AB"]
        moving = tuple(len(shape) >= axis and shape[-axis] > 1 for shape in shapes)
        if extent > 1 and joined is None:
            joined = moving
        if extent == 1 or (moving == joined and rows == 1):
            length *= extent
        else:
            rows *= extent
    return rows, length


def repeated_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, elements of what is repeated, pairs of pieces of results and their elements."""
    elements, shape = prod(extents.values()), types["B"].shape
    loops = list(extents)[len(extents) - len(shape) :]
    length = prod(extents[loop] for loop, size in zip(loops, shape, strict=True) if size > 1)
    own, pairs = up(length, cores), up(elements // length, 2)
    return 1.0, float(own), float(up(own, 64) * pairs), float(own * pairs)


def norm_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows that a core has a part of, their elements, and those that are its own."""
    *outer, length = extents.values()
    rows = prod(outer)
    own = rows if rows < cores else up(rows, cores)
    part = 4 * up(length, 4 * cores) if rows < cores else length
    return 1.0, float(own), float(own * length), float(own * part)


def softmax_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows, their elements, those whose products with a reciprocal do not fit 32 bits, and what is left of
    words."""
    softmax = cast(iSoftmax, op)
    *rows, length = extents.values()
    own = up(prod(rows), cores)
    elements = float(own * length)
    return 1.0, float(own), elements, elements * is_high(softmax), float(own * (length % 4))


def is_high(softmax: iSoftmax) -> bool:
    """Whether products of its exponentials with a reciprocal need more than 32 bits: TW_SHORT_BITS in C."""
    return softmax.a * softmax.b**2 + softmax.c >= 2**11


# ---- convolutions ---------------------------------------------------------------------------------------------------


def pixels_of(extents: Extents) -> int:
    return extents["n"] * extents.get("y", 1) * extents.get("x", 1)


def taps_of(extents: Extents) -> int:
    return extents.get("r", 1) * extents.get("s", 1)


def is_fair(count: int, cores: int) -> bool:
    return count % cores == 0 or count >= 6 * cores


@dataclass(frozen=True)
class Dealt:
    """What the core with most of a convolution has of each group."""

    blocks: int
    """Of four pixels and four filters."""
    strips: int
    """Of such blocks, one after the other."""
    windows: int
    """That it gathers."""


def deal_out(pixels: int, quads: int, chunk: int, cores: int) -> Dealt:
    """As deal_out() in C; `chunk` is how many windows a core gathers at a time."""
    blocks = up(pixels, 4)
    if is_fair(quads, cores):
        own = up(quads, cores)
        return Dealt(blocks * own, own * up(pixels, cores * chunk), up(pixels, cores))
    if is_fair(blocks, cores):
        own = up(blocks, cores)
        return Dealt(own * quads, quads * up(4 * own, chunk), 4 * own)
    parts = min(quads, cores)
    units = up(blocks * parts, cores)
    return Dealt(units * up(quads, parts), units * up(quads, parts), 4 * units)


def gathered_at_once(length: int) -> int:
    return max(4, min(16, 2048 // length // 4 * 4))


def deal_strips(strips: Strips, cores: int) -> Dealt:
    """As strips() in C; windows are pieces of rows."""
    across, quads = up(strips.width, strips.pixels), strips.quads
    pieces = strips.lines * across
    parts = next((n for n in range(1, quads) if is_fair(pieces * n, cores) and quads % n == 0), quads)
    units = up(pieces * parts, cores)
    return Dealt(units * quads // parts * up(strips.pixels, 4), units * quads // parts, units)


def conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call; strips and blocks of four pixels and filters, those that are requantised, their words and what is left
    of them; results alone, those that are requantised, and their words; what window_features has; filters prepared,
    those whose requantisation is looked at and their words, and words of copies of filters; results that are
    requantised in 64 bits, and blocks by the high words of products; of windows that are left in the image the runs,
    rows copied and words."""
    # As a tile has it, of whose layer `op` is.
    conv = replace(cast(Conv, op), groups=extents["g"])
    groups, filters, rows = extents["g"], extents["f"], extents.get("r", 1)
    pixels, length, quads = pixels_of(extents), extents["c"] * taps_of(extents), up(filters, 4)
    as_matrix = is_pointwise(conv, taps_of(extents), extents["c"])
    window = (rows, extents.get("s", 1), extents["c"], filters)
    strips = strips_of(conv, extents["n"] * extents.get("y", 1), extents.get("x", 1), *window)
    dealt = deal_strips(strips, cores) if strips else deal_out(pixels, quads, gathered_at_once(length), cores)
    words = length // 4 if as_matrix else strips.run * rows if strips else up(length, 4)
    alone = float(4 * dealt.blocks * filters * groups) if filters < 4 or pixels < 4 else 0.0
    some = 0.0 if alone else float(dealt.blocks * groups)
    is_requantised = conv.requant is not None
    windows = 0 if as_matrix or strips else dealt.windows * groups
    copied = float(dealt.windows * rows) if strips and not strips.is_inside else 0.0
    prepared = up(groups * quads, cores)
    looked_at = float(prepared * is_looked_at(conv.requant))
    filled = up(groups * filters, cores) * words if (extents["c"] if strips else length) % 4 else 0
    return (
        1.0, float(dealt.strips * groups), some, some * is_requantised, some * words, some * (length % 4) * as_matrix,
        alone, alone * is_requantised, alone * words, *window_features(conv, types, extents, windows, cores),
        float(prepared), looked_at, looked_at * words, float(filled),
        (16 * some + alone) * is_one_by_one(conv.requant, conv.w_zero, types),
        some * is_high_word(conv.requant, types), some * rows if strips else 0.0, copied,
        copied * strips.copied_words(strips.pixels) if strips else 0.0,
    )  # fmt: skip


def window_features(conv: Conv, types: Types, extents: Extents, windows: int, cores: int) -> tuple[float, ...]:
    """Of windows that are gathered: those within the image, their rows that are no single words and words of rows;
    others and their taps; words of an image that is copied with its padding, which then has all windows within it."""
    height, width, rows, taps = (extents.get(loop, 1) for loop in "yxrs")
    padded = padded_bytes(conv, extents["n"], (height, width), (rows, taps), extents["c"])
    run = extents["c"] * taps
    share = 1.0 if padded else prod(inside_share(conv, types, axis) for axis in range(len(conv.strides)))
    has_runs = extents["g"] == 1 and (conv.dilations[-1] == 1 or taps == 1)
    within = windows * share * has_runs
    return (
        within, within * rows * (run != 4), within * rows * up(run, 4), windows - within,
        (windows - within) * rows * taps, up(padded, 4) / cores * (windows > 0),
    )  # fmt: skip


LEAST_DOWN = 5
"""Rows of results from which on planes are walked down: TW_LEAST_DOWN of depthwise_down.h."""


def planes_of(conv: Conv, types: Types, extents: Extents) -> Planes:
    stride, dilation = (values[0] if len(values) > 1 else 1 for values in (conv.strides, conv.dilations))
    before = conv.padding[len(conv.strides) - 1]
    pitch = pitch_of(extents.get("x", 1), conv.strides[-1], extents.get("s", 1), before + row_of(conv, types, extents))
    reach = (extents.get("r", 1) - 1) * dilation + 1
    return Planes(extents["n"] * up(extents["g"], 4), extents.get("y", 1), stride, reach, pitch)


def row_of(conv: Conv, types: Types, extents: Extents) -> int:
    """Pixels of the image's row that a tile reads, about."""
    width = extents.get("x", 1)
    return types["X"].shape[-2] if width == types["Y"].shape[-2] else width * conv.strides[-1]


def depthwise_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, words that planes are filled with; pieces of four channels, those whose requantisation is looked at,
    and of their input four pixels at a time and those left of them; turns of outer loops, pairs of results and results
    alone, and the same of planes that are walked down; where filters are not of three rows the rows and words of taps;
    results that are requantised in 64 bits, and by the high words of products."""
    conv = cast(Conv, op)
    planes, taps, width = planes_of(conv, types, extents), extents.get("s", 1), extents.get("x", 1)
    strips = up(planes.height, planes.rows)
    own = up(planes.quads * strips, cores)
    # The last strip may be a short one: a core does not have more than all there is.
    lines = min(own * planes.rows, planes.quads * planes.height)
    # Rows beyond the image are not loaded.
    is_whole = strips == 1 and any(conv.padding) and prod(types["Y"].shape[1:-1]) == planes.height * width
    read = lines * planes.stride + (0 if is_whole else own * (planes.reach - planes.stride))
    fours, rest = divmod(row_of(conv, types, extents), 4)
    filled = planes.pitch * planes.input_rows(planes.rows)
    requant, exact = conv.requant, is_exact(conv.requant, types)
    looked_at = own * is_looked_at(requant)
    is_fast = extents.get("r", 1) == 3 and taps <= 4 and requant is not None and not exact
    is_high = is_fast and is_high_word(requant, types)
    pairs = width // 2 if conv.strides[-1] == 1 and taps <= 3 else 0
    alone = width - 2 * pairs
    is_down = set(conv.strides) == {1} and planes.reach == 3 and planes.rows >= LEAST_DOWN and not is_high
    turns = pairs + alone if is_down else min(planes.rows, pairs) + min(planes.rows, alone)
    walk = float(own * turns), float(lines * pairs), float(lines * alone)
    across, down = (walk if is_fast and is_down == way else (0.0, 0.0, 0.0) for way in (False, True))
    words = 0.0 if is_fast else float(lines * width * extents.get("r", 1) * up(taps, 4))
    return (
        1.0, float(filled), float(own), float(looked_at), float(read * fours), float(read * rest), *across, *down,
        0.0 if is_fast else float(lines), words, float(lines * width) * exact, float(lines * width) * is_high,
    )  # fmt: skip


def float_conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four pixels and filters, rows of their windows, products, and where cores share adders; of
    rows that are copied, as they are no runs of the image, the taps and elements."""
    columns = extents["g"] * up(extents["f"], 4)
    blocks = up(up(pixels_of(extents), 4) * columns, cores)
    rows, row = blocks * extents.get("r", 1), extents.get("s", 1)
    products = float(rows * row * extents["c"])
    shared = products if cores > 1 else 0.0
    copied = copied_windows(cast(Conv, op), types, extents, blocks) * extents.get("r", 1) * row
    return 1.0, float(blocks), float(rows), products, shared, copied, copied * extents["c"]


def copied_windows(conv: Conv, types: Types, extents: Extents, blocks: int) -> float:
    """Windows of a core whose rows have gaps, or reach beyond the image to the left or right: of a long image, those
    at one end are all in few cores."""
    columns, axis = extents["g"] * up(extents["f"], 4), len(conv.strides) - 1
    if extents["g"] > 1 or conv.dilations[axis] > 1:
        return 4.0 * blocks
    left, right, count = outside(conv, types, axis)
    if 4 * blocks >= extents.get("x", 1) * columns:
        return 4.0 * blocks * (left + right) / count
    # The last block repeats its last pixel until it has four.
    most = max(left, right + -count % 4 if right else 0)
    return float(min(blocks * min(most, 4), most * columns))


def float_depthwise_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows of one channel, windows of 3 x 3 in the image, and where cores share floating point units; other
    windows and their taps."""
    conv = cast(Conv, op)
    own = up(extents["n"] * extents["g"] * extents.get("y", 1), cores)
    windows = own * extents.get("x", 1)
    is_three = extents.get("r", 1) == 3 and extents.get("s", 1) == 3
    some = windows * inside_share(conv, types, 0) * inside_share(conv, types, 1) if is_three else 0.0
    shared = some if cores > 1 else 0.0
    return 1.0, float(own), some, shared, windows - some, (windows - some) * taps_of(extents)


def inside_share(conv: Conv, types: Types, axis: int) -> float:
    """The part of a layer's windows that do not reach beyond the image along an axis."""
    left, right, count = outside(conv, types, axis)
    return max(count - left - right, 0) / count


def outside(conv: Conv, types: Types, axis: int) -> tuple[int, int, int]:
    """Of a layer's windows along an axis, those that begin before the image, those that only end behind it, and all."""
    (size, count), taps = (types[name].shape[1 + axis] for name in "XY"), types["W"].shape[1 + axis]
    stride, before, reach = conv.strides[axis], conv.padding[axis], (taps - 1) * conv.dilations[axis]
    left = min(up(before, stride), count)
    return left, count - max(left, min(up(max(size - reach + before, 0), stride), count)), count
