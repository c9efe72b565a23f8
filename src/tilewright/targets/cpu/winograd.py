"""Convolutions of 3 x 3 taps in Winograd's form F(4x4, 3x3): fewer multiplications, more weights."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.params import params_of
from tilewright.target.structs.common import activation_params
from tilewright.targets.cpu.float_forms import FAR_WINDOWS, FloatForm, copies_rows, number, panels

PIXELS, RESULTS, PLACES = 6, 4, 36
BLOCK_BYTES, MOST_TILES = 512 * 1024, 256
"""Of transformed pixels and sums that are worked on at a time; and the number of tiles at the most, MOST in C."""
FEWEST_CHANNELS, FEWEST_RESULTS = 16, 4
"""Below which transformations cost more than they save."""
FEWEST_TILES, CACHED_BYTES = 8, 1 << 20
"""Tiles that share weights which a level-2 cache does not hold: for fewer, four times as many bytes are too many."""

A, B = math.sqrt(0.5), math.sqrt(2)
TAPS_TO_PLACES = np.array(
    [[1, 0, 0], *([1 / n, p / n, p * p / n] for p, n in ((A, -1.5), (-A, -1.5), (B, 6), (-B, 6))), [0, 0, 1]]
)
"""For the points 0, A, -A, B, -B and infinity, as in winograd.c."""
PLACES_TO_TAPS = np.linalg.pinv(TAPS_TO_PLACES)


def is_worth_it(op: Conv, kernel: Shape, channels: int, filters: int, results: Shape, lanes: int) -> bool:
    """Whether a convolution has this form, which also must have enough to do."""
    plain = op.groups == 1 and kernel == (3, 3) and set(op.strides) == set(op.dilations) == {1}
    fills = all(size == lanes or size >= 2 * lanes for size in (channels, filters))
    if not plain or not fills or min(channels, filters) < FEWEST_CHANNELS or min(results) < FEWEST_RESULTS:
        return False
    tiles = math.prod(-(-size // RESULTS) for size in results)
    return tiles >= FEWEST_TILES or 4 * PLACES * channels * filters <= CACHED_BYTES


def transformed(weights: Array, width: int) -> Array:
    """Weights [filters, 3, 3, channels] as [place * panel, channels, width]."""
    rows = _along_both(TAPS_TO_PLACES, weights.astype(np.float64).transpose(1, 2, 0, 3))
    return pack_rows(panels(width), rows.reshape(-1, weights.shape[-1]).astype(np.float32), PLACES)


def _along_both(matrix: Array, values: Array) -> Array:
    """The first two axes of [rows, columns, ...] times a matrix."""
    along_rows = np.tensordot(matrix, values, (1, 0))
    return np.tensordot(matrix, along_rows, (1, 1)).swapaxes(0, 1)


@dataclass(frozen=True)
class WinogradConv(FloatForm):
    """Weights as transformed; B as whole panels."""

    def plain_rows(self, W: Array) -> Array:
        rows = unpack_rows(panels(W.shape[2]), W, PLACES, self.filters, W.shape[1]).astype(np.float64)
        places = rows.reshape(PIXELS, PIXELS, self.filters, -1)
        taps = _along_both(PLACES_TO_TAPS, places).transpose(2, 0, 1, 3)
        return taps.reshape(self.filters, -1).astype(np.float32)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        known = params_of(self.conv, self.plain_types(types))
        names = "batch in_h in_w out_h out_w pad_top pad_left in_channels out_channels"
        fields: Params = {name: known[name] for name in names.split()}
        packs = copies_rows(types["W"].shape[-1], number(fields, "out_channels"))
        tiles = _tiles_at_a_time(fields, packs)
        return {**fields, "tiles": tiles, "packs": int(packs), **activation_params(self.activation)}


def _tiles_at_a_time(fields: Params, packs: bool) -> int:
    """Blocks of about the same size. Where tiles are copied for their products, few of them share no cache with weights
    that do not fit it."""
    count = math.prod(-(-number(fields, name) // RESULTS) for name in ("out_h", "out_w"))
    channels, filters = number(fields, "in_channels"), number(fields, "out_channels")
    fewest = FAR_WINDOWS // 2 if packs and 4 * PLACES * channels * filters > CACHED_BYTES else 8
    most = min(MOST_TILES, max(fewest, BLOCK_BYTES // (4 * PLACES * (channels + filters)) // 8 * 8))
    return -(-count // -(-count // most))
