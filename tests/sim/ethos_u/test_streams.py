"""Ethos-U: streams written by hand, compared with numpy. They need no compiler for the NPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import (
    ABS,
    ADD,
    ARENA,
    AVERAGE,
    CLZ,
    MAX,
    MAXIMUM,
    MIN,
    MUL,
    NATURAL,
    SHL,
    SHR,
    SUB,
    SUM,
    TFL,
    TRUNCATE,
    WEIGHTS,
    Stream,
    arena,
    constants,
    ordered,
    ordered_each,
    plain_weights,
    records,
    result,
)
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.npu import EthosU
from tilewright.sim.ethos_u.stream import products_of

OUT = 2048
NPUS = ["ethos-u55-128", "ethos-u65-256"]


def some(seed: int, shape: tuple[int, ...], dtype: str = "int8") -> Array:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def stream(npu: str) -> Stream:
    return Stream().set(PARALLEL_MODE=0) if "u65" in npu else Stream()


def windows(x: Array, height: int, width: int, stride: int, pads: tuple[int, int, int, int]) -> Array:
    """[y, x, row, column, channel], zeros around."""
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.int64), ((top, bottom), (left, right), (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (0, 1))
    return view[::stride, ::stride].transpose(0, 1, 3, 4, 2)


def halves_up(values: Array, scales: Array, shifts: Array) -> Array:
    return (values * scales + (1 << (shifts - 1))) >> shifts


@pytest.mark.parametrize("npu", NPUS)
@pytest.mark.parametrize("bricks", [False, True])
def test_convolution(npu: str, bricks: bool) -> None:
    x, w, zero = some(1, (5, 6, 3)), some(2, (5, 3, 3, 3)), 7
    biases, scales, shifts = np.arange(5) * 1000 - 2500, np.arange(5) + 2**30, np.array([37, 38, 39, 40, 41])
    pads = (1, 1, 1, 0)
    made, lines = plain_weights(ordered(w)), records(biases, scales, shifts)
    code = stream(npu).map("IFM", 0, (5, 6, 3), "int8", zero).map("OFM", OUT, (3, 3, 5), "int8", -3, bricks)
    code.kernel(3, 3, 2, pads).finish("int8", NATURAL, None, bricks).constants(len(made), len(lines)).op("CONV")
    memory = arena(4096, at0=x)
    run = EthosU(npu).run(code.done(), {WEIGHTS: constants(lines + made), ARENA: memory})
    sums = np.einsum("yxrci,orci->yxo", windows(x.astype(np.int64) - zero, 3, 3, 2, pads), w.astype(np.int64)) + biases
    wanted = np.clip(halves_up(sums, scales, shifts) - 3, -128, 127)
    if bricks:
        assert memory.written is not None
        found = memory.bytes[OUT : OUT + 3 * 3 * 16].view(np.int8).reshape(3, 3, 16)[:, :, :5]
    else:
        found = result(memory, OUT, (3, 3, 5), np.int8)
    assert found.tolist() == wanted.tolist()
    assert run.macs == products_of(code.done()) == 3 * 3 * 5 * 27


def test_depthwise() -> None:
    x, w = some(3, (6, 4, 10), "uint8"), some(4, (10, 3, 2))
    biases, scales, shifts = np.zeros(10, int), np.full(10, 2**31), np.full(10, 40)
    made, lines = plain_weights(ordered_each(w)), records(biases, scales, shifts)
    code = Stream().map("IFM", 0, x.shape, "uint8", 128).map("OFM", OUT, (4, 3, 10), "uint8", 100)
    code.kernel(3, 2).finish("uint8", TRUNCATE, None).constants(len(made), len(lines)).op("DEPTHWISE")
    memory = arena(4096, at0=x)
    EthosU("ethos-u55-128").run(code.done(), {WEIGHTS: constants(lines + made), ARENA: memory})
    sums = np.einsum("yxrcd,drc->yxd", windows(x.astype(np.int64) - 128, 3, 2, 1, (0, 0, 0, 0)), w.astype(np.int64))
    wanted = np.clip(np.sign(sums) * (abs(sums) >> 9) + 100, 0, 255)
    assert result(memory, OUT, (4, 3, 10), np.uint8).tolist() == wanted.tolist()


def away(sums: Array, counts: Array) -> Array:
    return np.sign(sums) * ((2 * abs(sums) + counts) // (2 * counts))


def pooled(mode: int, x: Array) -> Array:
    given = windows(x, 3, 3, 1, (1, 1, 1, 1))
    inside = windows(np.ones_like(x), 3, 3, 1, (1, 1, 1, 1)).astype(bool)
    if mode == MAX:
        return np.where(inside, given, -(2**40)).max((2, 3))
    return away(given.sum((2, 3)), inside.sum((2, 3)))


@pytest.mark.parametrize("mode", [MAX, AVERAGE])
def test_pools_leave_padding_out(mode: int) -> None:
    x = some(5, (4, 5, 3))
    code = Stream().map("IFM", 0, x.shape, "int8").map("OFM", OUT, x.shape, "int8")
    code.kernel(3, 3, 1, (1, 1, 1, 1)).finish("int8", scale=None).op("POOL", mode)
    memory = arena(4096, at0=x)
    EthosU("ethos-u55-64").run(code.done(), {ARENA: memory})
    assert result(memory, OUT, x.shape, np.int8).tolist() == pooled(mode, x).tolist()


def test_sum_of_channels() -> None:
    x = some(6, (3, 2, 21), "int16")
    code = Stream().map("IFM", 0, x.shape, "int16").map("OFM", OUT, (3, 2, 1), "int32")
    code.kernel(1, 1).finish("int32").op("POOL", SUM)
    memory = arena(4096, at0=x)
    EthosU("ethos-u55-64").run(code.done(), {ARENA: memory})
    assert result(memory, OUT, (3, 2), np.int32).tolist() == x.astype(int).sum(2).tolist()


def zeros_before(a: Array, _: Array) -> Array:
    return np.array([32 - int(v).bit_length() if v >= 0 else 0 for v in a.reshape(-1)]).reshape(a.shape)


BINARY: dict[int, Callable[[Array, Array], Array]] = {
    MUL: lambda a, b: a * b, ADD: lambda a, b: a + b, SUB: lambda a, b: a - b, MIN: np.minimum, MAXIMUM: np.maximum,
    ABS: lambda a, _: abs(a), CLZ: zeros_before, SHL: lambda a, b: a << b,
    SHR: lambda a, b: away(a, 1 << b),
}  # fmt: skip


@pytest.mark.parametrize("mode", BINARY)
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 1)])
def test_elementwise(mode: int, shape: tuple[int, ...]) -> None:
    """The second operand may be the same along some axes."""
    a, b = some(7, (3, 4, 5), "int16").astype(np.int32), some(8, shape, "int8").astype(np.int32)
    b = b % 16 if mode in (SHR, SHL) else b
    broadcast = sum(1 << axis for axis, size in enumerate(shape) if size == 1)
    code = Stream().map("IFM", 0, a.shape, "int32").map("IFM2", 1024, shape, "int32").map("OFM", OUT, a.shape, "int32")
    code.set(IFM2_BROADCAST=broadcast, OPA_SCALE=1, OPB_SCALE=1)
    code.finish("int32", TFL, (1, 0) if mode in (MUL, ADD, SUB, ABS) else None).op("ELEMENTWISE", mode)
    memory = arena(4096, at0=a, at1024=b)
    EthosU("ethos-u55-32").run(code.done(), {ARENA: memory})
    wanted = BINARY[mode](a.astype(np.int64), b.astype(np.int64))
    assert result(memory, OUT, a.shape, np.int32).tolist() == wanted.tolist()


def test_reversed_scalar() -> None:
    a = some(9, (2, 3, 4))
    code = Stream().map("IFM", 0, a.shape, "int8", 5).map("OFM", OUT, a.shape, "int8", -1)
    code.set(IFM2_BROADCAST=1 << 7 | 1 << 6, IFM2_PRECISION=1, IFM2_ZERO_POINT=3, IFM2_SCALAR=40)
    code.set(OPA_SCALE=1, OPB_SCALE=1).finish("int8", scale=(1, 1)).op("ELEMENTWISE", SUB)
    memory = arena(4096, at0=a)
    EthosU("ethos-u55-32").run(code.done(), {ARENA: memory})
    wanted = np.clip(away((40 - 3) - (a.astype(int) - 5), np.array(2)) - 1, -128, 127)
    assert result(memory, OUT, a.shape, np.int8).tolist() == wanted.tolist()


@pytest.mark.parametrize("npu", ["ethos-u55-32", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256"])
def test_table(npu: str) -> None:
    """The DMA brings a table of 256 bytes into the shared buffer."""
    a, table, zeros = some(10, (2, 3, 4)), some(11, (256,)), np.zeros(1, np.int8)
    machine = EthosU(npu)
    code = stream(npu).set(DMA0_SRC_REGION=ARENA, DMA0_SRC=1024, DMA0_DST_REGION=1 << 8, DMA0_LEN=256)
    code.set(DMA0_DST=machine.configuration.table_address + 512).op("DMA_START").op("DMA_WAIT")
    code.map("IFM", 0, a.shape, "int8").map("OFM", OUT, a.shape, "int8").set(OPA_SCALE=1, OPB_SCALE=1)
    code.set(IFM2_BROADCAST=1 << 7, IFM2_PRECISION=1, IFM2_ZERO_POINT=0, IFM2_SCALAR=0)
    code.finish("int8", function=16 + 2).op("ELEMENTWISE", ADD)
    memory = arena(4096, at0=a, at1024=table, at2000=zeros)
    machine.run(code.done(), {ARENA: memory})
    assert result(memory, OUT, a.shape, np.int8).tolist() == table[a.astype(int) + 128].tolist()


def test_words_of_a_table_have_slopes() -> None:
    a = some(12, (4, 8, 8), "int16")
    rng = np.random.default_rng(13)
    bases, slopes = rng.integers(-30000, 30000, 512), rng.integers(-90, 90, 512)
    table = ((slopes << 16) + bases).astype(np.int32)
    machine = EthosU("ethos-u55-128")
    code = Stream().set(DMA0_SRC_REGION=ARENA, DMA0_SRC=4096, DMA0_DST_REGION=1 << 8, DMA0_LEN=2048)
    code.set(DMA0_DST=machine.configuration.table_address).op("DMA_START").op("DMA_WAIT")
    code.map("IFM", 0, a.shape, "int16").map("OFM", OUT, a.shape, "int16").set(OPA_SCALE=1, OPB_SCALE=1)
    code.set(IFM2_BROADCAST=1 << 7, IFM2_PRECISION=5, IFM2_ZERO_POINT=0, IFM2_SCALAR=0)
    code.finish("int16", function=16).op("ELEMENTWISE", ADD)
    memory = arena(8192, at0=a, at4096=table)
    machine.run(code.done(), {ARENA: memory})
    at, rest = 256 + (a.astype(int) >> 7), a.astype(int) & 127
    wanted = bases[at] + ((slopes[at] * rest + 64) >> 7)
    assert result(memory, OUT, a.shape, np.int16).tolist() == wanted.tolist()


def test_tiles_of_a_map() -> None:
    """A copy from a ring of rows: rows from the third on, and columns from the second on, lie elsewhere."""
    x = some(14, (4, 3, 2))
    code = Stream().map("IFM", 0, x.shape, "int8").map("OFM", OUT, x.shape, "int8")
    code.set(IFM_HEIGHT0_M1=1, IFM_HEIGHT1_M1=2, IFM_WIDTH0_M1=0)
    code.set(IFM_STRIDE_Y=16, IFM_BASE0=0, IFM_BASE1=64, IFM_BASE2=128, IFM_BASE3=192)
    code.kernel(1, 1).finish("int8", scale=None).op("POOL", MAX)
    parts = {0: x[:2, :1], 64: x[:3, 1:], 128: x[2:, :1], 192: x[3:, 1:]}
    memory = arena(4096)
    assert memory.written is not None
    for base, part in parts.items():
        for row, values in enumerate(part):
            at = base + 16 * row
            memory.bytes[at : at + values.size] = values.reshape(-1).view(np.uint8)
            memory.written[at : at + values.size] = 1
    EthosU("ethos-u55-32").run(code.done(), {ARENA: memory})
    assert result(memory, OUT, x.shape, np.int8).tolist() == x.tolist()


@pytest.mark.parametrize("upscale", [1, 2])
def test_upscaled_input(upscale: int) -> None:
    """Each element four times, or zeros between them."""
    x = some(15, (2, 3, 2))
    code = Stream().map("IFM", 0, x.shape, "int8", 4).map("OFM", OUT, (4, 6, 2), "int8", 4)
    code.kernel(1, 1).finish("int8").set(IFM_UPSCALE=upscale).op("POOL", AVERAGE)
    memory = arena(4096, at0=x)
    EthosU("ethos-u55-32").run(code.done(), {ARENA: memory})
    wide = x.repeat(2, 0).repeat(2, 1)
    if upscale == 2:
        wide[1::2] = wide[:, 1::2] = 4
    assert result(memory, OUT, wide.shape, np.int8).tolist() == wide.tolist()


def test_transfers_of_rows() -> None:
    """U65 moves rows that lie apart."""
    code = Stream().set(PARALLEL_MODE=0, DMA0_SRC_REGION=ARENA | 1 << 9, DMA0_SRC=0, DMA0_LEN=3, DMA0_SKIP0=5)
    code.set(DMA0_DST_REGION=ARENA | 1 << 9, DMA0_DST=64, DMA0_SIZE0=3).op("DMA_START").op("DMA_WAIT")
    x = some(16, (4, 8))
    memory = arena(128, at0=x)
    EthosU("ethos-u65-256").run(code.done(), {ARENA: memory})
    assert memory.bytes[64:96].view(np.int8).reshape(4, 8)[:, :3].tolist() == x[:, :3].tolist()
