"""Weights in blocks as kernels for vectors read them: panels of rows side by side, levels apart from their scales.

A panel has all that its levels are multiplied with, filled up to whole lines of memory, and then for each 32 elements
of its rows [piece][row][4] bytes. Four pieces hold levels of 4 bits, the first 16 elements in the lower and the last 16
in the upper halves; what levels have above 4 bits is behind them. Levels of 8 bits have eight pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np

from tilewright.ir.block_formats import FORMATS, SMALL
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.toolchain.mapped_arrays import release, zeros

LINE = 64
"""Bytes that scales are filled up to."""
CHUNK = 2**22
"""Bytes of weights that are packed at a time: what is made on the way stays in a cache."""


class Scaling(Enum):
    """TW_SCALING in C."""

    PLAIN = "TW_PLAIN"
    MOVED = "TW_MOVED"
    SUPER = "TW_SUPER"
    SUPER_APART = "TW_SUPER_APART"

    @property
    def bytes(self) -> int:
        """For a row: of a block of 32, or of eight of them."""
        return {Scaling.PLAIN: 2, Scaling.MOVED: 4, Scaling.SUPER: 20, Scaling.SUPER_APART: 18}[self]

    @property
    def halves(self) -> int:
        """Floats of 16 bits among them, the first."""
        return 1 if self in (Scaling.PLAIN, Scaling.SUPER_APART) else 2

    @property
    def blocks(self) -> int:
        """Of 32 elements that share them."""
        return 8 if self in (Scaling.SUPER, Scaling.SUPER_APART) else 1


@dataclass(frozen=True)
class Layout:
    """Of a format."""

    bits: int
    scaling: Scaling
    zero: int
    """The level that stands for 0."""
    pieces: Callable[[Array], Array]
    """Bytes of blocks [n, block, bytes] -> [n, blocks of 32, 4 * pieces]."""
    scales: Callable[[Array], Array]
    """Bytes of blocks [n, block, bytes] -> [n, groups that share scales, bytes of Scaling.bytes], panel columns."""


def _halves(nibbles: Array) -> Array:
    """Levels of 32 elements in bytes [..., 32] -> [..., 16]: the last 16 in the upper halves."""
    return nibbles[..., :16] | nibbles[..., 16:] << 4


def _one_bit(bits: Array) -> Array:
    """[..., 32] zeros and ones -> [..., 4]: of each place among four, those of the eight fours."""
    return _stacked(bits.reshape(*bits.shape[:-1], 8, 4), 1)


def _two_bits(upper: Array) -> Array:
    """[..., 32] of two bits -> [..., 8]: of each place among four, those of the four fours of a half."""
    return _stacked(upper.reshape(*upper.shape[:-1], 2, 4, 4), 2).reshape(*upper.shape[:-1], 8)


def _stacked(parts: Array, bits: int) -> Array:
    """[..., parts, 4] of so many bits -> [..., 4], the first in the lowest bits."""
    words = np.ascontiguousarray(parts).view(np.uint32)[..., 0]
    found = words[..., 0].copy()
    for number in range(1, words.shape[-1]):
        found |= words[..., number] << np.uint32(bits * number)
    return found[..., None].view(np.uint8)


def _parts(runs: Array) -> Array:
    """Of a block of 256: nibbles of runs of 32 bytes, [..., 128] -> [..., 8, 32]."""
    own = runs.reshape(*runs.shape[:-1], 4, 1, SMALL)
    return np.concatenate([own & 15, own >> 4], axis=-2).reshape(*runs.shape[:-1], 8, SMALL)


def _joined(blocks: Array, *pieces: Array) -> Array:
    """[n, block, parts, bytes] of each kind, one behind the other."""
    found = np.concatenate(pieces, axis=-1)
    return found.reshape(len(blocks), -1, found.shape[-1])


def _fifth(start: int) -> Callable[[Array], Array]:
    def pieces(blocks: Array) -> Array:
        bits = np.unpackbits(blocks[..., start : start + 4], axis=-1, bitorder="little")
        return np.concatenate([blocks[..., start + 4 : start + 20], _one_bit(bits)], axis=-1)

    return pieces


def _of_q4_k(blocks: Array) -> Array:
    return _joined(blocks, _halves(_parts(blocks[..., 16:])))


def _of_q5_k(blocks: Array) -> Array:
    bits = blocks[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return _joined(blocks, _halves(_parts(blocks[..., 48:])), _one_bit(bits))


def _of_q6_k(blocks: Array) -> Array:
    low = blocks[..., :128].reshape(*blocks.shape[:2], 2, 1, 2, SMALL)
    nibbles = np.concatenate([low & 15, low >> 4], axis=3).reshape(*blocks.shape[:2], 8, SMALL)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = blocks[..., 128:192].reshape(*blocks.shape[:2], 2, 1, SMALL) >> shifts & 3
    return _joined(blocks, _halves(nibbles), _two_bits(upper.reshape(*blocks.shape[:2], 8, SMALL)))


def _six_bits(blocks: Array) -> Array:
    """d, dmin, then the scale and the minimum of each part."""
    first, second, last = (blocks[..., start : start + 4] for start in (4, 8, 12))
    scales = np.concatenate([first & 63, (last & 15) | (first >> 6 << 4)], axis=-1)
    minima = np.concatenate([second & 63, (last >> 4) | (second >> 6 << 4)], axis=-1)
    pairs = np.stack([scales, minima], axis=-1).reshape(*blocks.shape[:2], 16)
    return np.concatenate([blocks[..., :4], pairs], axis=-1)


def _front(count: int) -> Callable[[Array], Array]:
    return lambda blocks: blocks[..., :count]


LAYOUTS = {
    "Q4_0": Layout(4, Scaling.PLAIN, 8, lambda blocks: blocks[..., 2:], _front(2)),
    "Q4_1": Layout(4, Scaling.MOVED, 0, lambda blocks: blocks[..., 4:], _front(4)),
    "Q5_0": Layout(5, Scaling.PLAIN, 16, _fifth(2), _front(2)),
    "Q5_1": Layout(5, Scaling.MOVED, 0, _fifth(4), _front(4)),
    "Q8_0": Layout(8, Scaling.PLAIN, 0, lambda blocks: blocks[..., 2:], _front(2)),
    "Q4_K": Layout(4, Scaling.SUPER, 0, _of_q4_k, _six_bits),
    "Q5_K": Layout(5, Scaling.SUPER, 0, _of_q5_k, _six_bits),
    "Q6_K": Layout(6, Scaling.SUPER_APART, 32, _of_q6_k,
                   lambda blocks: np.concatenate([blocks[..., 208:], blocks[..., 192:208]], axis=-1)),
}  # fmt: skip
FLOATS = ("F16", "BF16")
"""Formats of floats: element after element, those of a panel's rows side by side."""
SIGN = np.uint8(0x80)


@dataclass(frozen=True)
class Panels:
    """How weights of a format are packed."""

    format: str
    rows: int
    """Of a panel."""
    is_unsigned: bool = False
    """Whether levels of 8 bits have 128 added, for instructions that multiply unsigned bytes."""
    is_apart: bool = False
    """Whether the four bytes of a row in a piece lie apart, each beside those of the other rows: [piece][4][row]."""

    def panel_bytes(self, inner: int) -> int:
        return self.scale_bytes(inner) + self.rows * self._level_bytes(inner)

    def scale_bytes(self, inner: int) -> int:
        """Of a panel, with what fills them up."""
        if self.format in FLOATS:
            return 0
        scaling = LAYOUTS[self.format].scaling
        size = inner // SMALL // scaling.blocks * scaling.bytes * self.rows
        return -(-size // LINE) * LINE

    def _level_bytes(self, inner: int) -> int:
        """Of a row."""
        return 2 * inner if self.format in FLOATS else inner // SMALL * 4 * LAYOUTS[self.format].bits

    # ---- to panels --------------------------------------------------------------------------------------------------

    def pack(self, raw: Array) -> Array:
        """Rows of blocks [n, bytes] -> [panels, bytes of a panel]; rows that are missing are zeros."""
        block, count = FORMATS[self.format], -(-len(raw) // self.rows)
        inner = raw.shape[1] // block.bytes * block.elements
        found = zeros((count, self.panel_bytes(inner)), np.uint8)
        for first, last in self._chunks(count, raw.shape[1]):
            rows = raw[first * self.rows : last * self.rows]
            missing = (last - first) * self.rows - len(rows)
            whole = np.pad(rows, [(0, missing), (0, 0)]) if missing else np.ascontiguousarray(rows)
            self._fill(whole, found[first:last], self.scale_bytes(inner))
        # Nobody reads either before the next stage: a model of billions of weights is never in memory as a whole.
        release(raw)
        release(found)
        return found

    def _chunks(self, panels: int, row_bytes: int) -> Iterator[tuple[int, int]]:
        step = max(1, CHUNK // max(row_bytes * self.rows, 1))
        return ((first, min(first + step, panels)) for first in range(0, panels, step))

    def _fill(self, raw: Array, to: Array, start: int) -> None:
        count = len(to)
        if self.format in FLOATS:
            elements = raw.view(np.uint16).reshape(count, self.rows, -1)
            to.view(np.uint16)[:] = elements.transpose(0, 2, 1).reshape(count, -1)
            return
        layout = LAYOUTS[self.format]
        blocks = raw.reshape(len(raw), -1, FORMATS[self.format].bytes)
        pieces = np.ascontiguousarray(layout.pieces(blocks))
        pieces = pieces ^ SIGN if layout.bits == 8 and self.is_unsigned else pieces
        fours = pieces.view(np.uint32).reshape(count, self.rows, -1, layout.bits)
        found = np.ascontiguousarray(fours.transpose(0, 2, 3, 1)).view(np.uint8)
        if self.is_apart:
            found = found.reshape(count, -1, self.rows, 4).swapaxes(2, 3)
        to[:, start:] = found.reshape(count, -1)
        scales = self._in_columns(layout.scales(blocks).reshape(count, self.rows, -1, layout.scaling.bytes))
        to[:, : scales.shape[1]] = scales

    def _in_columns(self, scales: Array) -> Array:
        """[panels, rows, groups, bytes] -> [panels, bytes]: in each group the same of all rows side by side."""
        count, _, groups, _ = scales.shape
        split = 2 * LAYOUTS[self.format].scaling.halves
        halves = np.ascontiguousarray(scales[..., :split]).view(np.uint16).transpose(0, 2, 3, 1)
        own = scales[..., split:].transpose(0, 2, 3, 1).reshape(count, groups, -1)
        wide = np.ascontiguousarray(halves).view(np.uint8).reshape(count, groups, -1)
        return np.concatenate([wide, own], axis=-1).reshape(count, -1)

    # ---- and back ---------------------------------------------------------------------------------------------------

    def values(self, packed: Array, columns: int, inner: int) -> Array:
        """What panels stand for: float32 [columns, inner]."""
        count = len(packed)
        if self.format in FLOATS:
            rows = packed.view(np.uint16).reshape(count, inner, self.rows).transpose(0, 2, 1).reshape(-1, inner)
            return FORMATS[self.format].values(np.ascontiguousarray(rows[:columns]).view(np.uint8))
        start, layout = self.scale_bytes(inner), LAYOUTS[self.format]
        order = (4, self.rows) if self.is_apart else (self.rows, 4)
        pieces = packed[:, start:].reshape(count, inner // SMALL, layout.bits, *order)
        levels = self._levels(pieces.swapaxes(3, 4) if self.is_apart else pieces)
        plain = levels.transpose(0, 3, 1, 2, 4).reshape(count * self.rows, inner // SMALL, 2, 16)
        scale, least = self._scales(packed[:, :start], inner // SMALL)
        found = scale[..., None] * (plain - np.float32(layout.zero)) + least[..., None]
        return np.asarray(found.reshape(-1, inner)[:columns], np.float32)

    def _levels(self, pieces: Array) -> Array:
        """[panels, blocks, pieces, rows, 4] -> float32 [panels, blocks, 8, rows, 4]"""
        bits = LAYOUTS[self.format].bits
        if bits == 8:
            return (pieces ^ SIGN if self.is_unsigned else pieces).view(np.int8).astype(np.float32)
        low = pieces[:, :, :4]
        levels = np.concatenate([low & 15, low >> 4], axis=2)
        if bits == 5:
            levels |= (pieces[:, :, 4:] >> np.arange(8, dtype=np.uint8)[:, None, None] & 1) << 4
        elif bits == 6:
            shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None, None]
            levels |= np.concatenate([(pieces[:, :, at : at + 1] >> shifts & 3) << 4 for at in (4, 5)], axis=2)
        return levels.astype(np.float32)

    def _scales(self, packed: Array, blocks: int) -> tuple[Array, Array]:
        """Of halves of blocks, and what is added: float32 [rows, blocks, 2]."""
        scaling, count = LAYOUTS[self.format].scaling, len(packed)
        groups = blocks // scaling.blocks
        own = packed[:, : groups * scaling.bytes * self.rows].reshape(count, groups, scaling.bytes * self.rows)
        split = 2 * scaling.halves * self.rows
        halves = np.ascontiguousarray(own[..., :split]).view(np.float16).astype(np.float32)
        halves = halves.reshape(count, groups, scaling.halves, self.rows).transpose(0, 3, 1, 2)
        few = own[..., split:].reshape(count, groups, -1, self.rows).transpose(0, 3, 1, 2)
        if scaling.blocks == 1:
            both = halves.reshape(count * self.rows, blocks, -1)
            least = both[..., 1:] if scaling is Scaling.MOVED else np.zeros_like(both)
            return np.repeat(both[..., :1], 2, -1), np.repeat(least, 2, -1)
        if scaling is Scaling.SUPER_APART:
            found = (halves * few.view(np.int8)).reshape(-1, blocks, 2)
            return found, np.zeros_like(found)
        pairs = few.reshape(count, self.rows, groups, 8, 2).astype(np.float32)
        scale = (halves[..., :1] * pairs[..., 0]).reshape(-1, blocks, 1)
        least = (-halves[..., 1:] * pairs[..., 1]).reshape(-1, blocks, 1)
        return np.repeat(scale, 2, -1), np.repeat(least, 2, -1)
