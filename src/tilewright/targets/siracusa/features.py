"""What the cycles of kernels grow with: work of the core that has most of it, in the units that the C works in."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from tilewright.op import Op
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target import Types

Extents = Mapping[str, int]


def up(count: int, unit: int) -> int:
    """How many units are begun."""
    return -(-count // unit)


# ---- matrix products ------------------------------------------------------------------------------------------------


def product_sizes(types: Types, extents: Extents) -> tuple[int, int, int, int]:
    """Matrices, rows, length of the sum and columns. A batch of rows on one matrix is one matrix."""
    batches = prod(size for loop, size in extents.items() if loop not in ("m", "n", "k"))
    rows, inner, columns = (extents.get(loop, 1) for loop in "mkn")
    shared = prod(types["B"].shape[:-2]) == 1
    return (1, batches * rows, inner, columns) if shared else (batches, rows, inner, columns)


def product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips, blocks of four rows and columns, those that are requantised, and their words; rows alone and
    their words; packed bytes; results that are stored one by one."""
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
    is_scattered = rows > 1 and bool(product.perm_y) and product.perm_y[-1] != len(product.perm_y) - 1
    scattered = 16 * some + 4 * single if is_scattered else 0.0
    return (
        1.0, float(own), some, some * (product.requant is not None), some * words, single, single * words, packed,
        scattered,
    )  # fmt: skip


def few_rows_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, rows of them and their words."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    strips = up(matrices * up(columns, 4), cores)
    return 1.0, float(matrices), float(strips), float(strips * rows), float(strips * rows * up(inner, 4))


def word_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, strips of four columns, and rows of them."""
    matrices, rows, _, columns = product_sizes(types, extents)
    strips = matrices * up(columns, 4)
    return 1.0, float(up(strips, cores)), float(up(strips * rows, cores))


def float_product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four rows and columns, their products; blocks of several cores share an adder."""
    matrices, rows, inner, columns = product_sizes(types, extents)
    blocks = up(matrices * up(rows, 4) * up(columns, 4), cores)
    shared = float(blocks * inner) if cores > 1 else 0.0
    return 1.0, float(blocks), float(blocks * inner), shared


# ---- requantisation -------------------------------------------------------------------------------------------------


def requantised_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, elements with one factor for all; elements with factors of their own, and channels."""
    elements, channels = prod(extents.values()), types["mul"].elements
    if channels == 1:
        return 1.0, elements / cores, 0.0, 0.0
    own = up(channels, cores)
    return 1.0, 0.0, own * elements / channels, float(own)


# ---- convolutions ---------------------------------------------------------------------------------------------------


def pixels_of(extents: Extents) -> int:
    return extents["n"] * extents.get("y", 1) * extents.get("x", 1)


def taps_of(extents: Extents) -> int:
    return extents.get("r", 1) * extents.get("s", 1)


def is_fair(count: int, cores: int) -> bool:
    return count % cores == 0 or count >= 6 * cores


def conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call; blocks of four pixels and filters, those that are requantised, and their words; results alone and their
    words; gathered windows, their rows and words; filters prepared and their words."""
    conv = cast(Conv, op)
    groups, filters, taps = extents["g"], extents["f"], taps_of(extents)
    pixels, length = pixels_of(extents), extents["c"] * taps
    pointwise = taps == 1 and set(conv.strides) == {1} and not any(conv.padding) and groups == 1
    blocks, quads, words = up(pixels, 4), up(filters, 4), up(length, 4)
    if pointwise and is_fair(quads, cores):
        own, gathered = blocks * up(quads, cores), 0
    elif is_fair(blocks, cores):
        own, gathered = up(blocks, cores) * quads, 4 * up(blocks, cores)
    else:
        parts = min(quads, cores)
        units = up(blocks * parts, cores)
        own, gathered = units * up(quads, parts), 4 * units
    alone = float(4 * own * filters * groups) if filters < 4 or pixels < 4 else 0.0
    some = 0.0 if alone else float(own * groups)
    windows = 0.0 if pointwise else float(gathered * groups)
    prepared = up(groups * quads, cores)
    return (
        1.0, some, some * (conv.requant is not None), some * words, alone, alone * words, windows,
        windows * extents.get("r", 1), windows * words, float(prepared), float(prepared * words),
    )  # fmt: skip


def depthwise_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, pieces of four channels, rows and words of their input, rows and pixels of results; words of taps where
    filters are not of three rows."""
    conv = cast(Conv, op)
    height, width = extents.get("y", 1), extents.get("x", 1)
    stride = conv.strides[0] if len(conv.strides) > 1 else 1
    quads = extents["n"] * up(extents["g"], 4)
    strips = next((n for n in range(1, height + 1) if n * quads % cores == 0 or n * quads >= 4 * cores), height)
    own, rows = up(quads * strips, cores), up(height, strips)
    read = own * ((rows - 1) * stride + extents.get("r", 1))
    across = up(width * conv.strides[-1] + extents.get("s", 1) - 1, 4)
    results = float(own * rows * width)
    is_fast = extents.get("r", 1) == 3 and extents.get("s", 1) <= 4 and conv.requant is not None
    words = 0.0 if is_fast else results * extents.get("r", 1) * up(extents.get("s", 1), 4)
    strided = results if conv.strides[-1] > 1 else 0.0
    return 1.0, float(own), float(read), float(read * across), float(own * rows), results, strided, words


def float_conv_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, blocks of four pixels and filters, their taps and products."""
    columns = extents["g"] * up(extents["f"], 4)
    blocks = up(up(pixels_of(extents), 4) * columns, cores)
    taps = blocks * taps_of(extents)
    shared = float(taps * extents["c"]) if cores > 1 else 0.0
    return 1.0, float(blocks), float(taps), float(taps * extents["c"]), shared
