"""Cycles of streams: counted by hand, and against what Vela writes beside the files that it makes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import MAX, SUM, WEIGHTS, Stream
from tests.sim.ethos_u.test_vela import TRAINED
from tests.support.stand_ins import Network, network_id, tflite_bytes, wide_autoencoder, wide_classifier
from tests.support.vela import Compiled, vela_files
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS, find_configuration
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.sim.ethos_u.timing import stream_cycles

NPU = find_configuration("ethos-u55-128")
FLASH_WAIT = 64
SHAPE = (16, 16, 64)
BLOCK = {"OFM_BLK_HEIGHT_M1": 7, "OFM_BLK_WIDTH_M1": 3, "OFM_BLK_DEPTH_M1": 63}


def dense(code: Stream, depth: int = 64) -> Stream:
    """A convolution of one tap, 64 channels to 64."""
    code.map("IFM", 0, (*SHAPE[:2], depth), "int8", bricks=True).map("OFM", 0, SHAPE, "int8").kernel(1, 1)
    return code.constants(256, 640).finish("int8", scale=None, bricks=True).set(**BLOCK).op("CONV")


def transfer(code: Stream, size: int) -> Stream:
    return code.set(DMA0_SRC_REGION=WEIGHTS, DMA0_DST_REGION=1, DMA0_SRC=0, DMA0_DST=0, DMA0_LEN=size).op("DMA_START")


def cycles(code: Stream, npu: str = NPU.name) -> int:
    return stream_cycles(code.done(), find_configuration(npu))


def test_products_of_all_blocks_and_the_output_of_the_last() -> None:
    """8 blocks of 8 x 4 x 64 results, units of 1 x 2 x 8: 16 x 8 of them, 4 cycles for each 32 of 64 channels."""
    assert cycles(dense(Stream())) == 8 * (16 * 8 * 4 * 2) + 8 * 4 * 64 // 2


def test_few_channels_of_input_waste_products() -> None:
    few, some, all_of_them = (cycles(dense(Stream(), depth)) for depth in (8, 32, 64))
    assert few == some < all_of_them


def test_transfers_run_beside_operations() -> None:
    alone, size = cycles(dense(Stream())), 5000
    assert cycles(transfer(Stream(), size).op("DMA_WAIT")) == size + FLASH_WAIT
    assert cycles(dense(transfer(Stream(), size).op("DMA_WAIT"))) == alone + size + FLASH_WAIT
    assert cycles(transfer(dense(Stream()), size)) == alone


def test_weights_in_flash_come_again_for_each_block_of_pixels() -> None:
    code = dense(Stream()).set(WEIGHT_LENGTH=9000).op("CONV")
    assert cycles(code) == cycles(dense(Stream())) + 8 * 9000 + 640


@pytest.mark.parametrize("npu", CONFIGURATIONS)
def test_streams_of_extremes_have_cycles_at_once(npu: str) -> None:
    """Sizes that no machine could work through: nothing is counted one by one."""
    most = {"OFM_HEIGHT_M1": 65535, "OFM_WIDTH_M1": 65535, "OFM_DEPTH_M1": 65535, "IFM_DEPTH_M1": 65535,
            "KERNEL_HEIGHT_M1": 65535, "KERNEL_WIDTH_M1": 65535, "DMA0_LEN": 2**48 - 1,
            "OFM_BLK_DEPTH_M1": 0}  # fmt: skip
    code = Stream().set(**most)
    for name, mode in (("CONV", 0), ("DEPTHWISE", 0), ("POOL", MAX), ("POOL", SUM), ("ELEMENTWISE", 9)):
        code.op(name, mode).op("DMA_START")
    assert cycles(code, npu) > 2**48
    assert stream_cycles(np.full(64, 0xFFFF_FFFF, np.uint32), find_configuration(npu)) == 1
    assert stream_cycles(np.zeros(0, np.uint32), find_configuration(npu)) == 1


def parts(data: bytes) -> list[Array]:
    file = Compiled(data)
    return [read_payload(file.constant(one.Inputs(0)).tobytes(), "stream").words for one in file.operators]


ALLOWED = {"ethos-u55-64": 0.03, "ethos-u55-128": 0.10, "ethos-u65-256": 0.10}


@pytest.mark.parametrize("npu", ALLOWED)
@pytest.mark.parametrize("network", [wide_autoencoder, wide_classifier, *TRAINED], ids=network_id)
def test_network(network: Network, npu: str, tmp_path: Path) -> None:
    vela_files(tflite_bytes(network), npu, tmp_path)
    (summary,) = tmp_path.glob("*_summary_*.csv")
    with summary.open(encoding="utf-8") as lines:
        (row,) = csv.DictReader(lines)
    found = sum(stream_cycles(words, find_configuration(npu)) for words in parts(_made(tmp_path)))
    assert abs(found / float(row["cycles_total"]) - 1) < ALLOWED[npu]


def _made(folder: Path) -> bytes:
    return (folder / "network_vela.tflite").read_bytes()
