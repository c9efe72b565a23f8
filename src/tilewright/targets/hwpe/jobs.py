"""Jobs of N-EUREKA: what it is told to do, and the registers that tell it."""

from __future__ import annotations

from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import NARROW, WIDE, WORD

DENSE, DEPTHWISE, POINTWISE = range(3)
SIDE = 6
"""Output pixels of the array along each axis."""
LANES = 32
"""Output channels of the array."""
REGISTERS = 24
SCALE_CODES = {8: 0, 16: 1, 32: 2}
OUTPUT_CODES = {8: 0, 32: 2}


@dataclass(frozen=True)
class Result:
    """How accumulators become results."""

    width: int = 32
    """Bits: 8 or 32."""
    is_signed: bool = True
    quantises: bool = False
    """Times scale, plus bias, shifted to the right; otherwise accumulators are stored as they are."""
    scale_bits: int = 8
    shift: int = 0
    has_shifts: bool = False
    """Whether each filter has its own."""


@dataclass(frozen=True)
class Weights:
    """How weights are stored and where."""

    bits: int
    offset: int
    """Added to every code."""
    resident: bool
    """In the weight memory, from where the next ones are fetched ahead; otherwise in L1."""


@dataclass(frozen=True)
class Job:
    mode: int
    channels: int
    filters: int
    height: int
    """Of the result, as the next."""
    width: int
    is_signed: bool
    """Whether the input is."""
    weights: Weights
    result: Result
    in_pixel: int
    """Bytes from pixel to pixel, and from row to row."""
    in_row: int
    out_pixel: int
    out_row: int
    x_at: int = 0
    """Bytes from the start of the input to the first pixel."""
    y_at: int = 0
    top: int = 0
    left: int = 0
    bottom: int = 0
    """Rows that the last windows have and the input has not."""
    right: int = 0
    pad_value: int = 0
    """Of what is missing at the top and on the left; at the bottom and on the right it is 0."""
    mask: int = 0
    """Taps that do not count."""

    @property
    def out_bytes(self) -> int:
        return self.height * self.width * self.filters * self.result.width // 8

    @property
    def in_tile(self) -> int:
        return NARROW if self.mode == POINTWISE else WIDE

    @property
    def out_tile(self) -> int:
        return WIDE if self.mode == DEPTHWISE else LANES


def parts(size: int, tile: int) -> list[int]:
    """The sizes of tiles: all whole but for the last."""
    return [min(tile, size - at) for at in range(0, size, tile)]


def registers(job: Job) -> tuple[int, ...]:
    """With addresses counted from the operands' first bytes."""
    ki, ko = parts(job.channels, job.in_tile), parts(job.filters, job.out_tile)
    rows, columns = parts(job.height, SIDE), parts(job.width, SIDE)
    reach = 0 if job.mode == POINTWISE else 2
    first = job.x_at - job.top * job.in_row - job.left * job.in_pixel
    padding = job.top << 28 | job.right << 24 | job.bottom << 20 | job.left << 16 | job.pad_value & 0xFFFF
    words = [0, first, job.y_at, 0, 0, 0, job.in_pixel, job.in_row, 0, 32, job.out_pixel, job.out_row]
    words += [WORD, _filter_bytes(job), 0, _pair(ko[-1], ki[-1]), _pair(rows[-1], columns[-1])]
    words += [_pair(rows[-1] + reach - job.bottom, columns[-1] + reach - job.right), _pair(len(ko), len(ki))]
    words += [_pair(len(rows), len(columns)), padding, job.weights.offset, job.mask, _configuration(job)]
    return tuple(_signed(word) for word in words)


def _filter_bytes(job: Job) -> int:
    """From filter to filter."""
    tiles = len(parts(job.channels, job.in_tile))
    return {DENSE: WORD * job.weights.bits * tiles, DEPTHWISE: 0, POINTWISE: WORD * tiles}[job.mode]


def _configuration(job: Job) -> int:
    weights, result = job.weights, job.result
    fields = [(weights.bits - 1, 0), (result.quantises, 4), (job.mode, 5), (weights.resident, 9)]
    # With weights in L1, fetching ahead would make it slower.
    fields += [(weights.resident, 10), (SCALE_CODES[result.scale_bits], 12), (weights.offset != 0, 15)]
    fields += [(result.shift, 16), (OUTPUT_CODES[result.width], 21), (result.is_signed, 23)]
    fields += [(result.has_shifts, 24), (result.quantises, 25), (job.is_signed, 26)]
    return sum(int(value) << position for value, position in fields)


def _pair(high: int, low: int) -> int:
    return high << 16 | low


def _signed(word: int) -> int:
    """The 32 bits of a register as the number that a C literal has."""
    return (word + (1 << 31)) % (1 << 32) - (1 << 31)
