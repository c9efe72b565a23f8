"""Formats of weights: blocks of a few elements that share a scale, and what their bytes stand for, as in GGUF files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

SMALL, LARGE = 32, 256
"""Elements of a block."""
HALF_EXPONENT, SHORT_EXPONENT = 0x7C00, 0x7F80
"""Bits of an fp16 and of a bf16 that are all set in what is no finite number."""


@dataclass(frozen=True)
class Block:
    name: str
    elements: int
    bytes: int
    decode: Callable[[Array], Array]
    """Bytes of blocks [n, bytes] -> float32 [n, elements]."""
    scales: tuple[int, ...] = ()
    """Where in a block an fp16 lies, by which elements are multiplied or moved."""

    def bytes_of(self, elements: int) -> int:
        return elements // self.elements * self.bytes

    def values(self, raw: Array) -> Array:
        """What bytes stand for, element by element: [..., bytes of a row] -> float32 [..., elements of a row]."""
        found = self.decode(raw.reshape(-1, self.bytes)).astype(np.float32, copy=False)
        return found.reshape(*raw.shape[:-1], raw.shape[-1] // self.bytes * self.elements)

    def are_finite(self, raw: Array) -> bool:
        """Whether all that bytes stand for are numbers."""
        if self.name == "F32":
            return bool(np.isfinite(raw.view(np.float32)).all())
        exponent = SHORT_EXPONENT if self.name == "BF16" else HALF_EXPONENT
        blocks = np.ascontiguousarray(raw).reshape(-1, self.bytes)
        return not any(
            ((np.ascontiguousarray(blocks[:, at : at + 2]).view(np.uint16) & exponent) == exponent).any()
            for at in self.scales or (0,)
        )


@dataclass(frozen=True, eq=False)
class BlockArray:
    """A matrix whose rows are blocks of one format, one behind another."""

    block: Block
    raw: Array
    """uint8 [rows, bytes of a row]; it may be a view of a mapped file."""

    @property
    def shape(self) -> Shape:
        return self.raw.shape[0], self.raw.shape[1] // self.block.bytes * self.block.elements

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def values(self) -> Array:
        return self.block.values(self.raw)


def _halves(blocks: Array, start: int) -> Array:
    """One fp16 of each block, as a column of float32."""
    return np.ascontiguousarray(blocks[:, start : start + 2]).view(np.float16).astype(np.float32)


def _nibbles(packed: Array) -> Array:
    """The low halves of bytes, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def _signed(blocks: Array) -> Array:
    return np.ascontiguousarray(blocks).view(np.int8)


# ---- single elements, and blocks of 32 ----------------------------------------------------------------------------


def _as(dtype: type[np.generic], blocks: Array) -> Array:
    return np.asarray(blocks.view(dtype))


def _bf16(blocks: Array) -> Array:
    return (blocks.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _q8_0(blocks: Array) -> Array:
    return _halves(blocks, 0) * _signed(blocks[:, 2:])


def _q4_0(blocks: Array) -> Array:
    return _halves(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Array) -> Array:
    return _halves(blocks, 0) * _nibbles(blocks[:, 4:]) + _halves(blocks, 2)


def _q5_0(blocks: Array) -> Array:
    levels = _nibbles(blocks[:, 6:]) | _fifth_bits(blocks[:, 2:6])
    return _halves(blocks, 0) * (levels.astype(np.float32) - 16)


def _q5_1(blocks: Array) -> Array:
    levels = _nibbles(blocks[:, 8:]) | _fifth_bits(blocks[:, 4:8])
    return _halves(blocks, 0) * levels + _halves(blocks, 2)


def _fifth_bits(packed: Array) -> Array:
    return np.unpackbits(packed, axis=1, bitorder="little") << 4


# ---- blocks of 256 ------------------------------------------------------------------------------------------------


def _scales_and_minima(packed: Array) -> tuple[Array, Array]:
    """Eight of each, of 6 bits: the last four of both have their upper two bits beside those of the first."""
    first, second, last = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (last & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (last >> 4) | (second >> 6 << 4)], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def _by_scales(blocks: Array, levels: Array) -> Array:
    """Of levels [n, 8, 32], with what is common to formats of 4 and 5 bits in front of a block."""
    scales, minima = _scales_and_minima(blocks[:, 4:16])
    factors, offsets = _halves(blocks, 0) * scales, _halves(blocks, 2) * minima
    return (factors[:, :, None] * levels - offsets[:, :, None]).reshape(-1, LARGE)


def _pairs(packed: Array) -> Array:
    """Nibbles of runs of 32 bytes: a part of the low ones, a part of the high ones, and so on."""
    runs = packed.reshape(len(packed), -1, 1, SMALL)
    return np.concatenate([runs & 15, runs >> 4], axis=2).reshape(len(packed), -1, SMALL)


def _q4_k(blocks: Array) -> Array:
    return _by_scales(blocks, _pairs(blocks[:, 16:]))


def _q5_k(blocks: Array) -> Array:
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    fifth = (blocks[:, None, 16:48] >> shifts & 1) << 4
    return _by_scales(blocks, _pairs(blocks[:, 48:]) | fifth)


def _q6_k(blocks: Array) -> Array:
    count = len(blocks)
    low = blocks[:, :128].reshape(count, 2, 1, 2, SMALL)
    nibbles = np.concatenate([low & 15, low >> 4], axis=2).reshape(count, 2, 4, SMALL)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = (blocks[:, 128:192].reshape(count, 2, 1, SMALL) >> shifts & 3) << 4
    levels = (nibbles | upper).reshape(count, 16, 16).astype(np.float32) - 32
    scales = _halves(blocks, 208) * _signed(blocks[:, 192:208])
    return (scales[:, :, None] * levels).reshape(count, LARGE)


FORMATS = {
    one.name: one
    for one in (
        Block("F32", 1, 4, lambda blocks: _as(np.float32, blocks)),
        Block("F16", 1, 2, lambda blocks: _as(np.float16, blocks)),
        Block("BF16", 1, 2, _bf16),
        Block("Q4_0", SMALL, 18, _q4_0, (0,)),
        Block("Q4_1", SMALL, 20, _q4_1, (0, 2)),
        Block("Q5_0", SMALL, 22, _q5_0, (0,)),
        Block("Q5_1", SMALL, 24, _q5_1, (0, 2)),
        Block("Q8_0", SMALL, 34, _q8_0, (0,)),
        Block("Q4_K", LARGE, 144, _q4_k, (0, 2)),
        Block("Q5_K", LARGE, 176, _q5_k, (0, 2)),
        Block("Q6_K", LARGE, 210, _q6_k, (208,)),
    )
}
"""By their names."""
