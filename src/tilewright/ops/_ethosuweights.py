from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

INPUTS, INPUT_UNIT = 32, 8
"""Channels of the input that an Ethos-U takes at once, and those of a unit of weights."""
SLICE, HEADER_BITS, CODE_BITS, END_BITS = 1 << 15, 36, 9, 3
"""Weights in a slice at the most, and bits before them, of each, and behind all."""
HEADER = 6 | 7 << 18 | 1 << 22 | 7 << 33
"""No zeros left out, plain numbers, a palette of nothing and numbers of 9 bits; a slice has its length besides."""
COUNT_AT = 3
ALIGNMENT = 16
OUTER = 2
"""Axes of matrices that lie side by side, at the most."""
BYTES = frozenset({"int8", "uint8"})


@dataclass(frozen=True)
class EthosUWeights(Internal):
    """Computed bytes in the order and the coding of an Ethos-U's weights, nothing left out: a stream for each matrix
    and core of the NPU, one behind the other. X is, in the order of `axes`, matrices of inputs x results."""

    axes: Shape = ()
    zero: int = 0
    """What is subtracted."""
    unit: int = 8
    """Results that the NPU computes at once."""
    block: int = 16
    """Results of a block, of all cores."""
    cores: int = 1
    dtype: str = "int8"
    operands: ClassVar[tuple[str, ...]] = ("X",)

    def index(self, shapes: Shapes) -> Index:
        return {"X": tuple(map(whole, shapes["X"])), "Y": (whole(sum(self.sizes(shapes["X"]))),)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        given = types["X"]
        if given.dtype not in BYTES or not 2 <= len(given.shape) <= OUTER + 2:
            raise Refusal(f"X is {given}; matrices of bytes are expected")
        if (results := given.shape[self.axes[-1]]) < self.cores:
            raise Refusal(f"{results} results for {self.cores} cores of an NPU")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def matrices(self, shape: Shape) -> tuple[Shape, int, int]:
        """How many there are along each axis, their inputs and their results."""
        *outer, inputs, results = (shape[axis] for axis in self.axes)
        return tuple(outer), inputs, results

    def count(self, shape: Shape, core: int) -> int:
        """Weights of a stream, with those that fill units."""
        _, inputs, results = self.matrices(shape)
        own, block = self.share(results, core), self.share(self.block, core)
        whole_blocks, rest = divmod(own, block)
        return _up(inputs, INPUTS) * (whole_blocks * _up(block, self.unit) + _up(rest, self.unit))

    def share(self, results: int, core: int) -> int:
        """For this number of results: those of a core."""
        return (results + self.cores - 1 - core) // self.cores

    def sizes(self, shape: Shape) -> list[int]:
        """Bytes of each stream."""
        outer, _, _ = self.matrices(shape)
        return [_stream_bytes(self.count(shape, core)) for core in range(self.cores)] * prod(outer)

    def numpy(self, X: Array) -> Array:
        _, inputs, results = self.matrices(X.shape)
        matrices = X.transpose(self.axes).reshape(-1, inputs, results).astype(np.int64) - self.zero
        streams = [
            coded(self.ordered(one[:, core :: self.cores], core)) for one in matrices for core in range(self.cores)
        ]
        return np.concatenate(streams).view(self.dtype)

    def ordered(self, matrix: Array, core: int) -> Array:
        """Blocks of results, 32 inputs each, units of results, of inputs, and the weights of a unit."""
        block = self.share(self.block, core)
        parts = (matrix[:, at : at + block] for at in range(0, matrix.shape[1], block))
        return np.concatenate([self._block(part) for part in parts])

    def _block(self, part: Array) -> Array:
        inputs, results = part.shape
        padded = np.zeros((_up(inputs, INPUTS), _up(results, self.unit)), np.int64)
        padded[:inputs, :results] = part
        steps = padded.reshape(-1, INPUTS // INPUT_UNIT, INPUT_UNIT, padded.shape[1] // self.unit, self.unit)
        return steps.transpose(0, 3, 1, 4, 2).reshape(-1)


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def _stream_bytes(count: int) -> int:
    bits = -(-count // SLICE) * HEADER_BITS + count * CODE_BITS + END_BITS
    return _up(bits, 8 * ALIGNMENT) // 8


def coded(weights: Array) -> Array:
    """The sign is the lowest bit of each code; the first bit is the lowest of the first byte. Ones behind the last are
    marks of the end: an NPU that reads on finds nothing else."""
    found = np.concatenate(list(_slices(weights)))
    ones = 8 * _stream_bytes(len(weights)) - len(found)
    return np.packbits(np.pad(found.astype(np.uint8), (0, ones), constant_values=1), bitorder="little")


def _slices(weights: Array) -> Iterator[Array]:
    for at in range(0, len(weights), SLICE):
        part = weights[at : at + SLICE]
        codes = np.abs(part) << 1 | (part < 0)
        yield _bits(HEADER | (len(part) - 1) << COUNT_AT, HEADER_BITS)
        yield (codes[:, None] >> np.arange(CODE_BITS) & 1).reshape(-1)


def _bits(value: int, count: int) -> Array:
    return np.array([value >> bit & 1 for bit in range(count)])
