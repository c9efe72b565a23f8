"""Kernels of sums of products: panels of four rows, blocks of 4 x 4 sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import NOT_AWAY, Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.mempool.native_samples import conv_samples, product_samples

PANEL = 4
"""Rows side by side, as in C."""
BLOCK = PANEL * PANEL
SHORTEST_PART = 8
"""TW_SHORTEST_PART in C."""
MOST_CORES = 256
"""Of all members of the family."""


def panels(rows: int) -> int:
    return -(-rows // PANEL)


def partial_bytes(blocks: int, words: int) -> int:
    """Of the parts of sums, where there are fewer blocks than cores."""
    if 2 * blocks > MOST_CORES or words < 2 * SHORTEST_PART:
        return 0
    return 4 * BLOCK * MOST_CORES


def product_bytes(op: Op, types: Types) -> int:
    """Panels of both operands, what sums of columns begin with, sums of rows where those matter, parts of sums."""
    p, matrices = cast("dict[str, int]", params_of(op, types)), _matrices(op, types)
    a, b, words = panels(p["rows"]), panels(p["columns"]), panels(p["inner"])
    sums = b + a * _has_zero(types["B"].dtype, p["b_zero"])
    return 4 * PANEL * matrices * ((a + b) * words + sums) + partial_bytes(matrices * a * b, words)


def _has_zero(dtype: str, zero: int) -> bool:
    """Whether another integer than 0 stands for zero in panels, where all bytes are signed."""
    return zero != (0 if dtype == "int8" else 128)


def _matrices(op: Op, types: Types) -> int:
    return math.prod(cast("list[int]", params_of(op, types)["size"]))


def product_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; rows that a core copies, their words, and those that are made of single bytes; blocks."""
    product = cast(MatMul, op)
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = (extents.get(name, 1) for name in ("m", "n", "k"))
    a, b, words = panels(rows), panels(columns), panels(inner)
    copied = [-(-matrices * PANEL * count // cores) for count in (a, b)]
    is_apart = [product.trans_a or bool(product.perm_a), not product.trans_b or bool(product.perm_b)]
    single = sum(count * words for count, apart in zip(copied, is_apart, strict=True) if apart or inner % PANEL)
    gathering = 1.0, float(sum(copied)), float(sum(copied) * words), float(single)
    return *gathering, *_block_features(product.requant, matrices * a * b, words, cores)


def _block_features(requant: Requant | None, blocks: int, words: int, cores: int) -> tuple[float, ...]:
    """Blocks of a core, products of words in these, whether sums are cut; blocks by the way from totals to results."""
    parts = max(1, min(cores // max(blocks, 1), words // SHORTEST_PART)) if 2 * blocks <= cores else 1
    own = -(-blocks // cores)
    ways = (Rounding.NATIVE, Rounding.HALF_UP)
    way = ways.index(requant.rounding) if requant and requant.rounding in ways else len(ways)
    results = (float(own / parts * (requant is not None and way == number)) for number in range(len(ways) + 1))
    return float(own), float(own * words) / parts, float(parts > 1), *results


# ---- convolutions -----------------------------------------------------------------------------------------------

GATHERED_SHARE = 6
"""Windows that are gathered at a time take at most one part in this many of L1."""


@dataclass(frozen=True)
class Convolution:
    """Sizes of the products that a convolution is."""

    pixels: int
    filters: int
    """Of a group."""
    words: int
    chunk: int
    """Panels of windows at a time."""


def convolution(op: Op, types: Types, l1: int) -> Convolution:
    p = cast("dict[str, int]", params_of(op, types))
    pixels, words = p["batch"] * p["out_h"] * p["out_w"], panels(p["kernel_h"] * p["kernel_w"] * p["in_channels"])
    most = max(1, l1 // GATHERED_SHARE // (4 * PANEL * max(words, 1)))
    return Convolution(pixels, p["out_channels"], words, max(1, min(panels(pixels), most)))


def conv_bytes(op: Op, types: Types, l1: int) -> int:
    """Panels of filters and of windows, what sums begin with, sums of windows where those matter, parts of sums."""
    c, conv = convolution(op, types, l1), cast(Conv, op)
    filters = panels(c.filters)
    sums = filters + c.chunk * _has_zero(types["W"].dtype, conv.w_zero)
    last = panels(c.pixels) % c.chunk or c.chunk
    return 4 * PANEL * ((filters + c.chunk) * c.words + sums) + partial_bytes(last * filters, c.words)


def conv_unsupported(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if not conv.channels_last:
        return "it is not channels last"
    return "each group has one channel" if conv.groups > 1 and types["W"].shape[-1] == 1 else None


def conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call and its groups; filters that a core copies and their words; windows, their runs, words, and those that
    are made of single bytes; blocks of all groups together."""
    conv = cast(Conv, op)
    filters, channels, groups = (extents.get(name, 1) for name in ("f", "c", "g"))
    high, wide = extents.get("r", 1), extents.get("s", 1)
    pixels = math.prod(size for name, size in extents.items() if name not in ("f", "c", "g", "r", "s"))
    words, is_one_run = panels(channels * high * wide), conv.dilations[-1] == 1 and groups == 1
    runs, run = (high, wide * channels) if is_one_run else (high * wide, channels)
    copied, windows = (groups * -(-count // cores) for count in (filters, pixels))
    gathering = (
        1.0, float(groups), float(copied), float(copied * words), float(windows), float(windows * runs),
        float(windows * words), float(windows * words * bool(run % PANEL)),
    )  # fmt: skip
    return *gathering, *_block_features(conv.requant, groups * panels(pixels) * panels(filters), words, cores)


# ---- depthwise convolutions -------------------------------------------------------------------------------------

MOST_TAPS = 64
"""TW_MOST_TAPS in C."""


def depthwise_unsupported(op: Op, types: Types) -> str | None:
    conv, filters = cast(Conv, op), types["W"].shape[0]
    if not conv.channels_last:
        return "it is not channels last"
    if types["W"].shape[-1] != 1 or filters != conv.groups:
        return "not every group has one channel and one filter"
    if conv.w_zero or _taps(types) > MOST_TAPS:
        return f"filters have a zero point, or more than {MOST_TAPS} taps"
    return None


def _taps(types: Types) -> int:
    return math.prod(types["W"].shape[1:-1])


def depthwise_bytes(op: Op, types: Types) -> int:
    """Filters in fours, and what sums begin with."""
    return 4 * panels(types["W"].shape[0]) * (_taps(types) + 4)


def depthwise_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; pixels of four channels that a core has, and their taps."""
    quads, taps = panels(extents.get("g", 1)), extents.get("r", 1) * extents.get("s", 1)
    pixels = math.prod(size for name, size in extents.items() if name not in ("f", "c", "g", "r", "s"))
    own = -(-quads * pixels // cores)
    return 1.0, float(own), float(own * taps)


def kernels(l1: int) -> tuple[Kernel, ...]:
    """For an L1 of so many bytes."""

    def conv_params(op: Op, types: Types) -> Params:
        return {**params_of(op, types), "chunk": convolution(op, types, l1).chunk}

    return (
        Kernel(
            MatMul, "matmul_panels.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
            scratch=product_bytes, roundings=NOT_AWAY, cooperative=True, unsplit_loops=frozenset({"k"}),
            multiples={"m": PANEL, "n": PANEL}, features=product_features, header="matmul.h",
            samples=product_samples,
        ),
        Kernel(
            Conv, "depthwise_quads.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
            scratch=depthwise_bytes, unsupported_reason=depthwise_unsupported, roundings=NOT_AWAY, cooperative=True,
            unsplit_loops=frozenset({"r", "s"}), multiples={"g": PANEL}, features=depthwise_features, header="conv.h",
        ),
        Kernel(
            Conv, "conv_panels.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
            params=conv_params, scratch=lambda op, types: conv_bytes(op, types, l1),
            unsupported_reason=conv_unsupported, roundings=NOT_AWAY, cooperative=True,
            unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": PANEL},
            features=conv_features, header="conv.h", samples=conv_samples,
        ),
    )  # fmt: skip
