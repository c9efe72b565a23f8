"""An estimate of the cycles of a command stream. It depends on no data: only on sizes, blocks, memories and waits.

An operation goes block by block through three stages that work side by side: the products, the output stage, and the
memories. The slowest of them decides. Transfers of the DMA run beside operations, until the stream waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from itertools import product
from math import prod
from typing import Any

from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import Configuration
from tilewright.sim.ethos_u.stream import Command, commands

CONSTANTS, ARENA, FAST = 0, 1, 2
"""Regions as Vela numbers them."""
SUB_KERNEL = 8
"""Rows and columns of a kernel that are computed at once."""
STEP_CYCLES = 4
"""Of a unit of the result: four taps of 8 channels, or one of 32."""
STEP_WEIGHTS, WEIGHTS_PER_CYCLE = 32, 8
"""A channel takes so many weights in a step; so many are decoded in a cycle."""
POOL_CYCLES, SMALLEST = 4, 32
"""Of a tap of a pool, by the byte; the NPU with the fewest products takes one."""
BETWEEN_STEPS = 2
"""Cycles until sums may be added to again, where a block is a single unit."""
BLOCKS_UNDER_WAY = 4
MACS_PER_RESULT = 64
"""The output stage finishes an element in a cycle for so many products in a cycle."""
MUL, ADD, SUB = 0, 1, 2
MAX, SUM = 0, 2
TABLES_FROM = 16
WIDE_SUMS = 1
"""ACC_FORMAT of 40 bits."""
UNARY = range(5, 8)
SOURCES = ("IFM_REGION", "IFM2_REGION", "WEIGHT_REGION", "SCALE_REGION", "DMA0_SRC_REGION")

BRICK, CHANNELS = 16, 8
"""Channels of a brick, and those that are read at once."""

Traffic = dict[int, float]
"""Bytes by region."""


@dataclass(frozen=True)
class Memory:
    bytes_per_cycle: float
    read_latency: int
    """Cycles from asking for bytes until they come."""
    write_latency: int
    burst: int
    """Bytes that it moves at the least."""


SRAM = Memory(8.0, 32, 32, 32)
FLASH = Memory(1.0, 64, 0, 128)
WIDE_SRAM = Memory(16.0, 32, 32, 32)
DRAM = Memory(12.0, 500, 250, 128)


def memory_of(npu: Configuration, region: int) -> Memory:
    """Those of Vela's default systems. U55: SRAM of 64 bits, flash at an eighth of it. U65: DRAM, and SRAM of 128 bits
    as the second arena."""
    if npu.is_u65:
        return WIDE_SRAM if region == FAST else DRAM
    return FLASH if region == CONSTANTS else SRAM


@dataclass
class Queue:
    """Jobs that were begun, one after the other."""

    places: int
    ends: list[float] = field(default_factory=list)

    def begin(self, now: float, cycles: float) -> float:
        """Until when the stream waits for a place."""
        now = max(now, self.free(self.places - 1))
        self.ends.append(max(now, self.free(0)) + cycles)
        return now

    def free(self, left: int) -> float:
        """When no more than so many are under way."""
        return self.ends[-1 - left] if len(self.ends) > left else 0.0


def stream_cycles(words: Any, npu: Configuration, constants: int = CONSTANTS) -> int:
    """From the first command to the end of the last operation; 1 at the least. Constants may lie in the memory of
    another region."""
    kernels, transfers, now = Queue(2), Queue(2 if npu.is_u65 else 1), 0.0
    for given in commands(words):
        one = given if constants == CONSTANTS else moved(given, constants)
        if one.name == "KERNEL_WAIT":
            now = max(now, kernels.free(one.parameter & 3))
        elif one.name == "DMA_WAIT":
            now = max(now, transfers.free(one.parameter & 3))
        elif one.name == "DMA_START":
            now = transfers.begin(now, transfer_cycles(one, npu))
        elif one.name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE"):
            now = kernels.begin(now, operation_cycles(one, npu))
    return max(1, round(max(now, kernels.free(0), transfers.free(0))))


def moved(one: Command, constants: int) -> Command:
    """With what it reads of constants in another region."""
    moved = {name: constants for name in SOURCES if one.get(name) & 7 == CONSTANTS}
    return replace(one, registers={**one.registers, **moved})


def transfer_cycles(one: Command, npu: Configuration) -> float:
    size, of = one.get("DMA0_LEN"), ("DMA0_SRC_REGION", "DMA0_DST_REGION")
    if npu.is_u65 and one.get(of[0]) >> 8 & 3:
        size *= one.size("DMA0_SIZE0") if one.get("DMA0_SIZE0") else 1
    inside = one.get(of[1]) & 0x100
    regions = [one.get(of[0]) & 7] + ([] if inside else [one.get(of[1]) & 7])
    slowest = min(memory_of(npu, region).bytes_per_cycle for region in regions)
    return size / slowest + memory_of(npu, regions[0]).read_latency


def operation_cycles(one: Command, npu: Configuration) -> float:
    shape = _Shape.of(one, npu)
    traffic = _traffic(shape)
    memory = max(traffic[region] / memory_of(npu, region).bytes_per_cycle for region in traffic)
    return max(sum(times * _slowest(part) for part, times in shape.parts()) + _drained(shape), memory)


def _stages(shape: _Shape) -> tuple[float, float]:
    """Cycles of a block: of its products, of the output stage. A block takes longer on its way through both and the
    memories than others may be under way: then that is what a stage waits for."""
    output = _output_cycles(shape) * prod(shape.block)
    products = 0.0 if shape.one.name == "ELEMENTWISE" else _product_cycles(shape)
    through = (_block_memory_cycles(shape) + output + products) / BLOCKS_UNDER_WAY
    return max(products, through), max(output, through)


def _slowest(shape: _Shape) -> float:
    return max(_stages(shape))


def _drained(shape: _Shape) -> float:
    """The last block goes through the other stage alone."""
    return 0.0 if shape.one.name == "ELEMENTWISE" else min(_stages(shape))


@dataclass(frozen=True)
class _Shape:
    """Of an operation: triples are height, width and channels."""

    one: Command
    npu: Configuration
    result: tuple[int, int, int]
    block: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    depth: int
    """Channels of the input that a result depends on."""
    x_bytes: int
    y_bytes: int

    @staticmethod
    def of(one: Command, npu: Configuration) -> _Shape:
        result = (one.size("OFM_HEIGHT"), one.size("OFM_WIDTH"), one.size("OFM_DEPTH"))
        names = ("OFM_BLK_HEIGHT", "OFM_BLK_WIDTH", "OFM_BLK_DEPTH")
        given = [one.size(name) if f"{name}_M1" in one.registers else 64 for name in names]
        block = (min(given[0], result[0]), min(given[1], result[1]), min(given[2], result[2]))
        word, plain = one.get("KERNEL_STRIDE"), one.name == "ELEMENTWISE"
        kernel = (one.get("KERNEL_HEIGHT_M1") // (1 + (word >> 4 & 1)) + 1,
                  one.get("KERNEL_WIDTH_M1") // (1 + (word >> 3 & 1)) + 1)  # fmt: skip
        strides = (1 + (word >> 1 & 1) + (word >> 9 & 7) * 2, 1 + (word & 1) + (word >> 6 & 7) * 2)
        dense = one.name == "CONV" or (one.name == "POOL" and one.parameter == SUM)
        return _Shape(
            one, npu, result, block, (1, 1) if plain else kernel, (1, 1) if plain else strides,
            one.size("IFM_DEPTH") if dense else 1, 1 << (one.get("IFM_PRECISION") >> 2 & 3),
            1 << (one.get("OFM_PRECISION") >> 1 & 3),
        )  # fmt: skip

    @property
    def blocks(self) -> tuple[int, int, int]:
        high, wide, deep = (-(-whole // part) for whole, part in zip(self.result, self.block, strict=True))
        return high, wide, deep

    def parts(self) -> Iterator[tuple[_Shape, int]]:
        """Blocks of each size, and how many there are: those at the ends of an axis are smaller."""
        axes = (_parts(whole, size) for whole, size in zip(self.result, self.block, strict=True))
        for (high, rows), (wide, columns), (deep, layers) in product(*axes):
            yield replace(self, block=(high, wide, deep)), rows * columns * layers

    @property
    def is_dense(self) -> bool:
        return self.one.name == "CONV" or (self.one.name == "POOL" and self.one.parameter == SUM)

    @property
    def sub_kernels(self) -> list[tuple[int, int]]:
        """Taps of a part of the kernel, and how many such parts there are."""
        high, wide = (_parts(size, SUB_KERNEL) for size in self.kernel)
        return [(y * x, rows * columns) for y, rows in high for x, columns in wide]

    @property
    def input_block(self) -> tuple[int, int, int]:
        """What a block reads, with all its channels."""
        high, wide = (
            (size - 1) * stride + taps
            for size, stride, taps in zip(self.block[:2], self.strides, self.kernel, strict=True)
        )
        return high, wide, self.depth if self.is_dense else self.block[2]


def _parts(size: int, part: int) -> list[tuple[int, int]]:
    """Lengths of the parts of an axis, and how many there are."""
    whole, rest = divmod(size, part)
    return [(length, times) for length, times in ((part, whole), (rest, 1)) if length * times]


def _product_cycles(shape: _Shape) -> float:
    """Of a block."""
    unit = shape.npu.unit
    if unit[0] == 2 and shape.result[0] == shape.kernel[0] == 1 and shape.result[1] % 2 == 0:
        unit = (1, 4, unit[2])
    high, wide, deep = (-(-part // size) for part, size in zip(shape.block, unit, strict=True))
    pixels, wait = high * wide, STEP_WEIGHTS * unit[2] // WEIGHTS_PER_CYCLE
    if shape.one.name == "POOL" and shape.one.parameter != SUM:
        taken = sum(max(STEP_CYCLES, taps) * times for taps, times in shape.sub_kernels)
        return float(taken * pixels * deep * (POOL_CYCLES if shape.npu.macs > SMALLEST else 1) * shape.x_bytes)
    steps = sum(_steps(shape, taps) * times for taps, times in shape.sub_kernels)
    width = shape.x_bytes if shape.one.name == "DEPTHWISE" else 1
    cycles = max(wait, STEP_CYCLES * pixels * width) * steps * deep
    idle = BETWEEN_STEPS * max(steps - (deep > 1), 0) * deep if pixels == 1 else 0
    return (cycles + idle) / shape.npu.cores


def _steps(shape: _Shape, taps: int) -> int:
    """Rounds of products for some taps of one unit of the result."""
    if shape.one.name == "DEPTHWISE":
        return -(-taps // 4)
    if shape.one.get("KERNEL_STRIDE") >> 2 & 1 and shape.one.name == "CONV":
        return -(-taps * min(shape.x_bytes, 2) // 4) * -(-shape.depth // 8)
    return taps * -(-shape.depth * shape.x_bytes // 32)


def _output_cycles(shape: _Shape) -> float:
    """Of an element of the result."""
    one, rate = shape.one, MACS_PER_RESULT / shape.npu.macs
    if one.name == "ELEMENTWISE":
        factor = {MUL: 1.5, ADD: 3.0, SUB: 3.0}.get(one.parameter, 1.0)
    elif one.name == "POOL" and one.parameter == MAX:
        factor = 0.5
    else:
        factor = 1.5 if one.get("ACC_FORMAT") == WIDE_SUMS else 1.0
    looked_up = one.get("ACTIVATION") & 0xFFF
    return max(rate * factor, 1.0 / shape.npu.cores if looked_up >= TABLES_FROM or looked_up in (3, 4) else 0.0)


def _block_memory_cycles(shape: _Shape) -> float:
    """Until a block's first inputs are there and its results are gone."""
    high, wide, deep = shape.input_block
    source, target = _memory(shape, "IFM"), _memory(shape, "OFM")
    read = high * wide * min(deep, 32 // shape.x_bytes) * shape.x_bytes * _read_waste(shape)
    written = prod(shape.block) * shape.y_bytes * _write_waste(shape)
    waits = source.read_latency + target.write_latency
    return waits + read / source.bytes_per_cycle + written / target.bytes_per_cycle


def _memory(shape: _Shape, name: str) -> Memory:
    return memory_of(shape.npu, shape.one.get(f"{name}_REGION"))


def _is_bricked(one: Command, name: str) -> bool:
    return bool(one.get(f"{name}_PRECISION") >> 6 & 3)


def _read_waste(shape: _Shape) -> float:
    """Bytes that are moved for one that is needed: bursts are shorter than the memory's where few bytes are side by
    side. Maps in bricks have rows of 16 channels, one pixel behind the other; others are read pixel by pixel."""
    _, wide, deep = shape.input_block
    together = BRICK * wide if _is_bricked(shape.one, "IFM") else -(-deep // CHANNELS) * CHANNELS
    return max(1.0, _memory(shape, "IFM").burst / (together * shape.x_bytes))


def _write_waste(shape: _Shape) -> float:
    _, wide, deep = shape.block
    together = BRICK * wide * shape.npu.cores if _is_bricked(shape.one, "OFM") else min(deep, BRICK * shape.npu.cores)
    return max(1.0, _memory(shape, "OFM").burst / (together * shape.y_bytes))


def _traffic(shape: _Shape) -> Traffic:
    """Bytes of the whole operation."""
    one, (high, wide, deep) = shape.one, shape.blocks
    found: Traffic = {}
    y, x, channels = shape.input_block
    times = high * wide * deep * sum(count for _, count in shape.sub_kernels)
    read = y * x * channels * shape.x_bytes * times * _read_waste(shape)
    written = prod(shape.result) * shape.y_bytes * _write_waste(shape)
    _add(found, [(one.get("IFM_REGION"), read), (one.get("OFM_REGION"), written)])
    if one.name == "ELEMENTWISE" and one.parameter not in UNARY:
        _add(found, [(one.get("IFM2_REGION"), 0.0 if one.get("IFM2_BROADCAST") else read)])
    if one.name in ("CONV", "DEPTHWISE"):
        _add(found, _constants(one, high * wide, shape.npu.cores))
    return found


def _constants(one: Command, times: int, cores: int) -> Iterable[tuple[int, float]]:
    """Weights come again for every block of pixels; biases and scales once."""
    numbers = ("", "1")[:cores]
    weights = sum(one.get(f"WEIGHT{number}_LENGTH") for number in numbers)
    scales = sum(one.get(f"SCALE{number}_LENGTH") for number in numbers)
    return [(one.get("WEIGHT_REGION"), float(weights * times)), (one.get("SCALE_REGION"), float(scales))]


def _add(found: Traffic, more: Iterable[tuple[int, float]]) -> None:
    for region, size in more:
        found[region] = found.get(region, 0.0) + size
