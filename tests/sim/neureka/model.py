"""N-EUREKA as its description has it: job registers, weight layout, a plain convolution and the cycle model."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]
DENSE, DEPTHWISE, POINTWISE = range(3)
SIDE = 6
L1 = 0x1000_0000


@dataclass(frozen=True)
class Job:
    mode: int
    bits: int
    kin: int
    kout: int
    ho: int
    wo: int
    top: int = 0
    right: int = 0
    bottom: int = 0
    left: int = 0
    pad_value: int = 0
    step: int = 1
    """Of the input pixels; pointwise only."""
    is_signed: bool = False
    offset: int = 0
    mask: int = 0
    quantises: bool = True
    out_bits: int = 8
    has_relu: bool = True
    has_bias: bool = True
    shift: int = 0
    channel_shift: bool = False
    scale_bits: int = 8
    streams_in: bool = False
    in_wmem: bool = True
    prefetches: bool = False
    in_gap: int = 0
    """Bytes between two pixels of the input that belong to nobody."""
    out_gap: int = 0

    @property
    def in_tile(self) -> int:
        return 32 if self.mode == POINTWISE else 28

    @property
    def out_tile(self) -> int:
        return 28 if self.mode == DEPTHWISE else 32

    @property
    def kernel(self) -> int:
        return 1 if self.mode == POINTWISE else 3

    @property
    def hi(self) -> int:
        return self.ho * self.step if self.mode == POINTWISE else self.ho + 2 - self.top - self.bottom

    @property
    def wi(self) -> int:
        return self.wo * self.step if self.mode == POINTWISE else self.wo + 2 - self.left - self.right

    @property
    def in_pixel(self) -> int:
        return self.kin + self.in_gap

    @property
    def out_pixel(self) -> int:
        return (self.kout + self.out_gap) * self.out_bits // 8


@dataclass(frozen=True)
class Places:
    """Addresses in TCDM; weights: in the weight memory, from its base, or in TCDM."""

    x: int
    y: int
    scale: int
    shifts: int
    bias: int
    weights: int


def tiles(size: int, tile: int) -> list[int]:
    return [min(tile, size - at) for at in range(0, size, tile)]


def packed(high: int, low: int) -> int:
    return high << 16 | low


def registers(job: Job, at: Places) -> list[int]:
    ki, ko = tiles(job.kin, job.in_tile), tiles(job.kout, job.out_tile)
    h, w = tiles(job.ho, SIDE), tiles(job.wo, SIDE)
    is_wide = job.mode != POINTWISE
    first = at.x - (job.top * job.wi + job.left) * job.in_pixel
    weight_out = {DENSE: 32 * job.bits * len(ki), DEPTHWISE: 0, POINTWISE: 32 * len(ki)}[job.mode]
    h_in, w_in = (h[-1] + 2 - job.bottom, w[-1] + 2 - job.right) if is_wide else (h[-1], w[-1])
    padding = job.top << 28 | job.right << 24 | job.bottom << 20 | job.left << 16 | job.pad_value & 0xFFFF
    words = [at.weights, first, at.y, at.scale, at.shifts, at.bias]
    words += [job.in_pixel * job.step, job.in_pixel * job.wi * job.step, 0]
    words += [32, job.out_pixel, job.out_pixel * job.wo, 32, weight_out, 0]
    words += [packed(ko[-1], ki[-1]), packed(h[-1], w[-1]), packed(h_in, w_in)]
    words += [packed(len(ko), len(ki)), packed(len(h), len(w)), padding, job.offset, job.mask, configuration(job)]
    return [word & 0xFFFFFFFF for word in words]


def configuration(job: Job) -> int:
    fields = [(job.bits - 1, 0), (job.quantises, 4), (job.mode, 5), (job.in_wmem, 9), (job.prefetches, 10)]
    fields += [({8: 0, 16: 1, 32: 2}[job.scale_bits], 12), (job.streams_in, 14), (job.offset != 0, 15)]
    fields += [(job.shift, 16), ({8: 0, 32: 2}[job.out_bits], 21), (not job.has_relu, 23), (job.channel_shift, 24)]
    fields += [(job.has_bias, 25), (job.is_signed, 26)]
    return sum(int(value) << position for value, position in fields)


def encoded(job: Job, codes: Array) -> bytes:
    """Codes [kout][kin][taps] (depthwise: [1][channels][taps]) as the engine's 32-byte words."""
    words: list[int] = []
    for row in codes:
        for start in range(0, job.kin, job.in_tile):
            part = row[start : start + job.in_tile]
            words += _pointwise_word(part) if job.mode == POINTWISE else _wide_words(part, job.bits)
    return b"".join(word.to_bytes(32, "little") for word in words)


def _pointwise_word(part: Array) -> list[int]:
    bits = (
        (int(code) >> b & 1) << (32 * (k // 4) + 4 * b + k % 4) for k, code in enumerate(part[:, 0]) for b in range(8)
    )
    return [sum(bits)]


def _wide_words(part: Array, bits: int) -> list[int]:
    taps = [(28 * s + k, int(part[k, s])) for k in range(len(part)) for s in range(9)]
    return [sum((code >> b & 1) << at for at, code in taps) for b in range(bits)]


class Case:
    """A job with random tensors, and what it must give."""

    def __init__(self, job: Job, seed: int) -> None:
        self.job = job
        rng = np.random.default_rng(seed)
        low, high = (-128, 128) if job.is_signed else (0, 256)
        rows = 1 if job.mode == DEPTHWISE else job.kout
        self.x = rng.integers(low, high, (job.hi, job.wi, job.kin))
        self.codes = rng.integers(0, 1 << job.bits, (rows, job.kin, job.kernel**2))
        self.before = rng.integers(-(1 << 20), 1 << 20, (job.ho, job.wo, job.kout))
        self.bias = rng.integers(-(1 << 15), 1 << 15, job.kout)
        self.shifts = rng.integers(0, 16, job.kout)
        self.scale = rng.integers(1, self._largest_scale() + 1, job.kout)

    def _largest_scale(self) -> int:
        """The product with the accumulator must stay inside 32 bits."""
        room = (1 << 30) // max(1, int(np.abs(self.accumulators).max()))
        return int(min(max(1, room), (1 << self.job.scale_bits) - 1, (1 << 31) - 1))

    @cached_property
    def accumulators(self) -> Array:
        job = self.job
        start = self.before.copy() if job.streams_in else np.zeros((job.ho, job.wo, job.kout), np.int64)
        field, weights = self._field(), self.codes + job.offset
        for tap in range(job.kernel**2):
            if job.mode != POINTWISE and job.mask >> tap & 1:
                continue
            row, column = divmod(tap, job.kernel)
            window = field[row : row + job.ho * job.step : job.step, column : column + job.wo * job.step : job.step]
            start += window * weights[0, :, tap] if job.mode == DEPTHWISE else window @ weights[:, :, tap].T
        return start

    def _field(self) -> Array:
        """The padding value counts at the top and left only; bottom and right are 0."""
        job = self.job
        value = (job.pad_value + 128) % 256 - 128 if job.is_signed else job.pad_value & 0xFF
        above = np.pad(self.x, ((job.top, 0), (job.left, 0), (0, 0)), constant_values=value)
        return np.pad(above, ((0, job.bottom), (0, job.right), (0, 0)))

    @property
    def expected(self) -> Array:
        job = self.job
        if not job.quantises:
            return self.accumulators
        value = self.accumulators * self.scale + (self.bias if job.has_bias else 0)
        value >>= self.shifts if job.channel_shift else job.shift
        if job.out_bits == 8:
            return np.clip(value, *((0, 255) if job.has_relu else (-128, 127)))
        return np.maximum(value, 0) if job.has_relu else value


def cycles(job: Job) -> int:
    """The state machine's time while nobody else uses the banks."""
    return sum(_output_tile_cycles(job, i, k) for i, k in enumerate(tiles(job.kout, job.out_tile)))


def _load(job: Job, h: int, w: int) -> int:
    return h * w + (36 - h * w + 6 if job.mode == POINTWISE else 0)


def _inputs(job: Job) -> list[tuple[int, int, int, int]]:
    """(h, w, h_in, w_in) of the spatial tiles."""
    wide = 0 if job.mode == POINTWISE else 2
    rows = [(h, h + wide) for h in tiles(job.ho, SIDE)]
    columns = [(w, w + wide) for w in tiles(job.wo, SIDE)]
    rows[-1] = rows[-1][0], rows[-1][1] - job.bottom
    columns[-1] = columns[-1][0], columns[-1][1] - job.right
    return [(h, w, h_in, w_in) for h, h_in in rows for w, w_in in columns]


def _control(job: Job) -> int:
    return {DENSE: 6, DEPTHWISE: 34, POINTWISE: 7 if job.prefetches else 10}[job.mode]


def _vector(job: Job, k: int) -> int:
    if job.mode == DEPTHWISE and not job.in_wmem:
        return job.bits
    return {DENSE: k * job.bits + 8, DEPTHWISE: k * job.bits, POINTWISE: k}[job.mode]


def _output_tile_cycles(job: Job, index: int, k: int) -> int:
    spatial = _inputs(job)
    parts = 1 if job.mode == DEPTHWISE else len(tiles(job.kin, job.in_tile))
    loads = [_load(job, h_in, w_in) for _, _, h_in, w_in in spatial for _ in range(parts)]
    time = sum(6 + load + _control(job) for load in loads)
    if job.prefetches:
        shown = _control(job) + (0 if job.mode == DEPTHWISE else _vector(job, k))
        excess = (shown - (3 + load) for load in loads[1:])
        time += sum(max(0, e) for e in excess) + _vector(job, k)
    else:
        time += len(loads) * _vector(job, k)
    is_last = (index + 1) * job.out_tile >= job.kout
    return time + sum(_around(job, h, w, k, is_last) for h, w, _, _ in spatial)


def _around(job: Job, h: int, w: int, k: int, is_last: bool) -> int:
    """Before and after the products: accumulators in, quantisation, results out."""
    groups = -(-k // 8)
    time = 36 * groups + 10 if job.streams_in else 0
    if job.quantises:
        per_load = 32 // job.scale_bits
        scales = -(-(k if is_last and k != 32 else 32) // per_load)
        time += job.channel_shift + scales + 9 + (4 if job.has_bias else 0) + 8
    time += ((h - 1) * SIDE + w) * (1 if job.out_bits == 8 else groups)
    return time + (3 if job.mode == POINTWISE else 0)


def random_job(rng: random.Random) -> Job:
    mode = rng.choice([DENSE, DEPTHWISE, POINTWISE])
    kin, bits = rng.choice([rng.randint(1, 70), 28, 32, 56, 64]), rng.randint(2, 8)
    sizes = [rng.choice([rng.randint(1, 14), SIDE, 2 * SIDE]) for _ in range(2)]
    pads = dict.fromkeys(["top", "right", "bottom", "left"], 0)
    if mode != POINTWISE and rng.random() < 0.6:
        pads = {
            "top": rng.randint(0, 2),
            "left": rng.randint(0, 2),
            "bottom": rng.randint(0, 1),
            "right": rng.randint(0, 1),
        }
        sizes = [max(size, 2) for size in sizes]
    quantises, in_wmem = rng.random() < 0.75, rng.random() < 0.6
    out_bits = rng.choice([8, 32]) if quantises else 32
    return Job(
        mode, bits, kin, kin if mode == DEPTHWISE else rng.choice([rng.randint(1, 70), 32, 64]), *sizes, **pads,
        pad_value=rng.choice([0, 0, rng.randint(-128, 255)]), step=rng.choice([1, 1, 2]) if mode == POINTWISE else 1,
        is_signed=rng.random() < 0.5, offset=rng.choice([0, -(1 << bits - 1), rng.randint(-128, 0)]),
        mask=rng.choice([0, 0, rng.randrange(512)]), quantises=quantises, out_bits=out_bits,
        has_relu=rng.random() < 0.5, has_bias=rng.random() < 0.7, shift=rng.randint(0, 24),
        channel_shift=rng.random() < 0.3, scale_bits=rng.choice([8, 16, 32]),
        streams_in=out_bits == 32 and mode != DEPTHWISE and rng.random() < 0.5, in_wmem=in_wmem,
        prefetches=in_wmem and rng.random() < 0.5, in_gap=rng.choice([0, 0, rng.randint(1, 9)]),
        out_gap=rng.choice([0, 0, rng.randint(1, 9)]),
    )  # fmt: skip
