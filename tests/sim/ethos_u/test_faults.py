"""Streams that cannot be executed: what is wrong, and at which command."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import ADD, ARENA, AVERAGE, MAX, WEIGHTS, Stream, arena, constants, records
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.npu import EthosU, Region, StreamFault

NPU = "ethos-u55-128"
SHAPE = (4, 4, 8)


def pool(**registers: int) -> Stream:
    code = Stream().map("IFM", 0, SHAPE, "int8").map("OFM", 512, SHAPE, "int8").kernel(1, 1)
    return code.finish("int8").set(**registers).op("POOL", AVERAGE)


def memory() -> Region:
    return arena(1024, at0=np.zeros(SHAPE, np.int8))


def words(*values: int) -> Array:
    return np.array(values, np.uint32)


def convolution() -> Array:
    code = Stream().map("IFM", 0, SHAPE, "int8").map("OFM", 512, SHAPE, "int8").kernel(1, 1)
    return code.finish("int8", scale=None).constants(16, 96).op("CONV").done()


def overwriting() -> Array:
    """The input is overwritten by a transfer while the pool may still read it."""
    code = pool().set(DMA0_SRC_REGION=ARENA, DMA0_SRC=768, DMA0_DST_REGION=ARENA, DMA0_DST=16, DMA0_LEN=32)
    return code.op("DMA_START").done()


FAULTS: dict[str, tuple[Callable[[], Array], str]] = {
    "unknown": (lambda: words(0x3FF), "command 0 (word 0): 0x000003ff is no command"),
    "mode": (lambda: words(0x8000), "command 0 (word 0): 0x00008000 is no command"),
    "cut": (lambda: words(0x4000), "command 0 (word 0): NPU_SET_IFM_BASE0 ends behind its first word"),
    "endless": (lambda: words(0x100), "command 1 (word 0): the stream's 1 words end without NPU_OP_STOP"),
    "reserved": (lambda: Stream().set(IFM_REGION=9).done(), "NPU_SET_IFM_REGION has the reserved value 0x9"),
    "precision": (lambda: pool(IFM_PRECISION=8).done(), "NPU_SET_IFM_PRECISION has the reserved value 0x8"),
    "rounding": (lambda: pool(OFM_PRECISION=0xC001).done(), "NPU_SET_OFM_PRECISION has the reserved value 0xc001"),
    "function": (lambda: pool(ACTIVATION=1).done(), "NPU_SET_ACTIVATION has the reserved value 0x1"),
    "shift": (lambda: pool(OFM_SCALE=64 << 32).done(), "NPU_SET_OFM_SCALE has the reserved value 0x40"),
    "pool": (lambda: Stream().op("POOL", 3).done(), "NPU_OP_POOL has the reserved value 0x3"),
    "unset": (lambda: Stream().op("POOL", MAX).done(), "needs NPU_SET_IFM_PRECISION, which was never set"),
    "region": (lambda: pool(OFM_REGION=5).done(), "region 5 is used, and there is none"),
    "outside": (
        lambda: pool(OFM_BASE0=1000).done(), "writes 8 bytes at 0x400 of region 1, which ends before"
    ),
    "far": (lambda: pool(IFM_BASE0=2**40).done(), "reads 8 bytes at 0x10000000000 of region 1, which ends before"),
    "unwritten": (lambda: pool(IFM_BASE0=16).done(), "reads byte 0x80 of region 1, which was never written"),
    "constant": (
        lambda: pool(OFM_REGION=WEIGHTS, OFM_BASE0=0).done(),
        "writes 8 bytes at 0x0 of region 0, which holds constants",
    ),
    "weights": (convolution, "the weight stream is not one at bit"),
    "aligned": (
        lambda: pool(IFM_PRECISION=5, IFM_BASE0=1).done(), "NPU_SET_IFM_BASE0 is 0x1, which is not aligned"
    ),
    "padding": (lambda: pool(IFM_PAD_TOP=9).done(), "the input would have -5 rows or columns"),
    "large": (
        lambda: pool(OFM_WIDTH_M1=65535, OFM_HEIGHT_M1=65535, OFM_DEPTH_M1=65535).done(),
        "the operation has more than 1000000 products or elements",
    ),
    "race": (overwriting, "touches bytes 0x0 to 0x80 of region 1, which an operation or transfer under way reads"),
    "dimensions": (
        lambda: Stream().set(DMA0_SRC_REGION=1 << 9, DMA0_SRC=0).op("DMA_START").done(),
        "NPU_SET_DMA0_SRC has the reserved value 0x200",
    ),
    "broadcast": (
        lambda: pool().set(IFM2_BROADCAST=8).op("ELEMENTWISE", ADD).done(), "has the reserved value 0x8"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str) -> None:
    made, text = FAULTS[name]
    regions = {ARENA: memory(), WEIGHTS: constants(records(np.zeros(8), np.ones(8), np.zeros(8)) + bytes(416))}
    with pytest.raises(StreamFault) as error:
        EthosU(NPU, most_work=1_000_000).run(made(), regions)
    assert text in str(error.value)


def test_waiting_ends_the_race() -> None:
    code = pool().set(DMA0_SRC_REGION=ARENA, DMA0_SRC=512, DMA0_DST_REGION=ARENA, DMA0_DST=16, DMA0_LEN=32)
    run = EthosU(NPU).run(code.op("KERNEL_WAIT").op("DMA_START").done(), {ARENA: memory()})
    assert run.dma_bytes == 32


def test_the_command_is_counted() -> None:
    stream = pool(IFM_BASE0=16).done()
    with pytest.raises(StreamFault) as error:
        EthosU(NPU).run(stream, {ARENA: memory()})
    assert error.value.fault.word == len(stream) - 2


def test_there_is_no_u85() -> None:
    with pytest.raises(CompileError, match="ethos-u85-256: is not simulated"):
        EthosU("ethos-u85-256")


def test_regions_are_bytes() -> None:
    with pytest.raises(CompileError, match="region 1: has 4 bytes, but 3 marks"):
        EthosU(NPU).run(words(0), {1: Region(np.zeros(4, np.uint8), np.zeros(3, np.uint8))})


def mutations(stream: Array, count: int) -> list[Array]:
    """Streams with a bit, a word, or several words changed, left out or cut off."""
    rng, made = np.random.default_rng(3), []
    for _ in range(count):
        copy = stream.copy()
        kind, at = rng.integers(4), int(rng.integers(len(copy)))
        if kind == 0:
            copy[at] ^= np.uint32(1 << int(rng.integers(32)))
        elif kind == 1:
            copy[at] = rng.integers(2**32, dtype=np.uint32)
        elif kind == 2:
            copy = np.delete(copy, slice(at, at + int(rng.integers(1, 4))))
        else:
            copy = copy[:at]
        made.append(copy)
    return made


@pytest.mark.parametrize("count", [400, pytest.param(5000, marks=pytest.mark.thorough)])
def test_changed_streams_end(count: int) -> None:
    """With a result or a fault, never with a signal."""
    machine = EthosU(NPU, most_work=1_000_000)
    lines = records(np.zeros(8), np.ones(8), np.zeros(8)) + bytes(416)
    reasons = set()
    for stream in [*mutations(overwriting(), count // 2), *mutations(convolution(), count // 2)]:
        try:
            machine.run(stream, {ARENA: memory(), WEIGHTS: constants(lines)})
        except StreamFault as error:
            reasons.add(error.fault.reason)
    assert len(reasons) > 8
