"""Products with weights of few bits: as C of this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tests.targets.gpu.test_code import assembled, codes, spills
from tests.targets.gpu.test_opencl import check_texts
from tests.targets.gpu.test_tiles import RANDOM, floats
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.target.settings import Settings

SHAPES = (
    (1, 64, 5, 4, 32),
    (3, 200, 9, 4, 32),
    (7, 70, 4, 4, 16),
    (2, 45, 3, 8, 16),
    (5, 130, 6, 2, 64),
    (4, 20, 2, 4, 2),
    (6, 128, 7, 2, 16),
    (5, 96, 5, 8, 32),
    (9, 384, 9, 4, 128),
)
"""Rows, weights of a column, columns, bits and weights of a block: bytes in one case, whole words in the last three."""


def cases() -> list[Case]:
    found: list[Case] = []
    for number, (rows, inner, columns, bits, block) in enumerate(SHAPES):
        blocks = -(-inner // block)
        packed = RANDOM.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
        zeros = RANDOM.integers(0, 2**bits, (columns, blocks)).astype(np.uint8)
        scales = np.abs(floats(columns, blocks)) * np.float32(0.1)
        given = [floats(rows, inner), packed, scales, zeros if number % 2 else None]
        found.append((MatMulNBits(inner, bits, block), given))
    return found


@pytest.mark.in_turns(3)
def test_few_bits() -> None:
    check_kernels(cases(), tolerance=1e-4, target="gpu")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_few_bits_beside_floats_in_16_bits(precision: str) -> None:
    check_kernels(cases(), target="gpu", settings=Settings(precision=precision))


def test_they_assemble_without_spills(tmp_path: Path) -> None:
    found = codes(cases()[:2])
    assert [name.split("/")[1] for name in found] == ["gpu_bits_4_gpu_matmul_nbits_f32_code.c"]
    for code in found.values():
        assert spills(assembled(code, tmp_path)) == []


def test_they_are_opencl_c(tmp_path: Path) -> None:
    check_texts(cases()[:2], tmp_path, ("CL1.2", "CL3.0"))
