"""Command streams for Ethos-U, written by hand: registers by name, weights without compression."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tilewright.ir.types import Array
from tilewright.sim.ethos_u.npu import Region
from tilewright.sim.library import ETHOS_U

LINE = re.compile(r"(\w+)\((\w+), (0x\w+)")
CODES = {
    (kind == "OPERATION", name): int(code, 16) | (0x4000 if kind == "PAYLOAD" else 0)
    for kind, name, code in LINE.findall((ETHOS_U / "commands.def").read_text())
}
MAX, AVERAGE, SUM = 0, 1, 2
MUL, ADD, SUB, MIN, MAXIMUM, LRELU, ABS, CLZ, SHR, SHL = range(10)
TFL, TRUNCATE, NATURAL = 0, 1, 2
GLOBAL = 1 << 8
SIZES = {"int8": 0, "uint8": 0, "int16": 1, "int32": 2}
WEIGHTS, ARENA = 0, 1


def precision(dtype: str, at: int) -> int:
    return (SIZES[dtype] << at) | (dtype != "uint8")


class Stream:
    """Words that grow."""

    def __init__(self) -> None:
        self.words: list[int] = []

    def set(self, **registers: int) -> Stream:
        for name, value in registers.items():
            code = CODES[False, name]
            self.words.append(
                code | (value & 0xFFFF) << 16 if not code & 0x4000 else code | (value >> 32 & 0xFFFF) << 16
            )
            if code & 0x4000:
                self.words.append(value & 0xFFFFFFFF)
        return self

    def op(self, name: str, parameter: int = 0) -> Stream:
        self.words.append(CODES[True, name] | parameter << 16)
        return self

    def map(
        self, name: str, at: int, shape: tuple[int, ...], dtype: str, zero: int = 0, bricks: bool = False
    ) -> Stream:
        """A feature map in one piece; `shape` is height, width and channels."""
        height, width, depth = shape
        size = np.dtype(dtype).itemsize
        row = width * (-(-depth // 16) * 16 if bricks else depth) * size
        self.set(**{
            f"{name}_REGION": ARENA, f"{name}_BASE0": at, f"{name}_BASE1": 0, f"{name}_BASE2": 0, f"{name}_BASE3": 0,
            f"{name}_WIDTH0_M1": width - 1, f"{name}_HEIGHT0_M1": height - 1, f"{name}_HEIGHT1_M1": height - 1,
            f"{name}_STRIDE_Y": row, f"{name}_STRIDE_X": 16 * size if bricks else depth * size,
            f"{name}_STRIDE_C": 16 * width * size if bricks else size, f"{name}_ZERO_POINT": zero,
        })  # fmt: skip
        if name != "OFM":
            self.set(**{f"{name}_PRECISION": precision(dtype, 2) | bricks << 6})
            return self.set(IFM_DEPTH_M1=depth - 1) if name == "IFM" else self
        return self.set(OFM_HEIGHT_M1=height - 1, OFM_WIDTH_M1=width - 1, OFM_DEPTH_M1=depth - 1)

    def finish(self, dtype: str, rounding: int = TFL, scale: tuple[int, int] | None = (1, 0), bricks: bool = False,
               function: int = 0) -> Stream:  # fmt: skip
        """How results are scaled; no scale: each channel has its own, or none is applied."""
        info = np.iinfo(dtype)
        word = precision(dtype, 1) | bricks << 6 | (GLOBAL if scale else 0) | rounding << 14
        self.set(OFM_PRECISION=word, IFM_UPSCALE=0, ACTIVATION=function, OFM_BLK_DEPTH_M1=15)
        self.set(ACTIVATION_MIN=max(info.min, -(2**15)), ACTIVATION_MAX=min(info.max, 2**15 - 1))
        return self.set(OFM_SCALE=scale[0] | scale[1] << 32) if scale else self

    def kernel(
        self, height: int, width: int, stride: int = 1, pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    ) -> Stream:
        self.set(KERNEL_HEIGHT_M1=height - 1, KERNEL_WIDTH_M1=width - 1, KERNEL_STRIDE=(stride - 1) * 3)
        top, left, bottom, right = pads
        return self.set(IFM_PAD_TOP=top, IFM_PAD_LEFT=left, IFM_PAD_BOTTOM=bottom, IFM_PAD_RIGHT=right)

    def constants(self, weights: int, scales: int) -> Stream:
        """Weights lie behind the biases and scales, from the region's start on."""
        self.set(WEIGHT_REGION=WEIGHTS, WEIGHT_BASE=scales, WEIGHT_LENGTH=weights)
        return self.set(SCALE_REGION=WEIGHTS, SCALE_BASE=0, SCALE_LENGTH=scales)

    def done(self) -> Array:
        return np.array(self.op("STOP", 0xFFFF).words, np.uint32)


def bits_of(values: list[tuple[int, int]]) -> bytes:
    """Numbers and their bits, the first bit in the lowest of the first byte, to 16 bytes."""
    word, at = 0, 0
    for value, bits in values:
        word |= value << at
        at += bits
    return word.to_bytes(-(-at // 128) * 16, "little")


def plain_weights(weights: Array) -> bytes:
    """One slice in which each weight has 9 bits, and the mark of the end."""
    header = [(6, 3), (len(weights) - 1, 15), (7, 3), (0, 1), (1, 1), (0, 5), (0, 5), (7, 3)]
    codes = [(abs(int(w)) << 1 | (int(w) < 0), 9) for w in weights]
    return bits_of([*header, *codes, (7, 3)])


def up(value: int, to: int) -> int:
    return -(-value // to) * to


def ordered(weights: Array, unit: int = 8) -> Array:
    """Of a kernel of at most 8 x 8 [out, y, x, in], at most 32 channels deep: units of results, taps, inputs."""
    out, height, width, inputs = weights.shape
    padded = np.zeros((up(out, unit), height * width, 32), weights.dtype)
    padded[:out, :, :inputs] = weights.reshape(out, -1, inputs)
    units = padded.reshape(-1, unit, height * width, 4, 8)
    return units.transpose(0, 2, 3, 1, 4).reshape(-1)


def ordered_each(weights: Array, unit: int = 8) -> Array:
    """Of a kernel for each channel [channel, y, x]: the taps are filled to four."""
    channels, height, width = weights.shape
    padded = np.zeros((up(channels, unit), up(height * width, 4)), weights.dtype)
    padded[:channels, : height * width] = weights.reshape(channels, -1)
    return padded.reshape(-1, unit, padded.shape[1]).transpose(0, 2, 1).reshape(-1)


def records(biases: Array, scales: Array, shifts: Array) -> bytes:
    made = b"".join(
        (int(bias) & (1 << 40) - 1).to_bytes(5, "little") + int(scale).to_bytes(4, "little") + bytes([int(shift)])
        for bias, scale, shift in zip(biases, scales, shifts, strict=True)
    )
    return made.ljust(up(len(made), 16), b"\0")


def arena(size: int, **parts: Array) -> Region:
    """Bytes of which those are written that hold `parts`: at0=..., at64=..."""
    region = Region(np.zeros(size, np.uint8), np.zeros(size, np.uint8))
    for name, values in parts.items():
        put(region, int(name.removeprefix("at")), values)
    return region


def put(region: Region, at: int, values: Array) -> None:
    assert region.written is not None
    row = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    region.bytes[at : at + row.size] = row
    region.written[at : at + row.size] = 1


def constants(data: bytes) -> Region:
    return Region(np.frombuffer(data, np.uint8).copy(), is_constant=True)


def result(region: Region, at: int, shape: tuple[int, ...], dtype: Any) -> Array:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    assert region.written is not None
    assert region.written[at : at + size].all()
    return region.bytes[at : at + size].view(dtype).reshape(shape)
