"""Bytes that are multiplied word by word, as C of this machine: windows of few bytes, and single rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tests.targets.gpu.test_tiles import LAST, RANDOM, integers
from tilewright import pipeline
from tilewright.ir.graph import Builder
from tilewright.ir.requant import Requant
from tilewright.ir.types import type_of
from tilewright.ops.matmul import MatMul
from tilewright.targets.gpu import short_windows

SMALL = Requant(14, "int8", -128, 127, zero_point=3)
LONG = Requant(36, "uint8", 0, 255, zero_point=90)
"""Of which words are left where 36 bits are cut off."""


def numbers(high: int, *shape: int) -> np.ndarray:
    return RANDOM.integers(-high, high, shape).astype(np.int32)


def windows() -> list[Case]:
    """One word and as many as there may be; strides, gaps and padding; one factor and many."""
    conv = replace(LAST, x_zero=5, requant=SMALL)
    strided = replace(conv, strides=(2, 1), dilations=(1, 2), padding=(2, 0, 1, 3), x_zero=200)
    pointwise = replace(conv, padding=(0, 0, 0, 0), x_zero=0, requant=LONG)
    return [
        (conv, [integers(2, 9, 7, 4), integers(24, 3, 3, 4), numbers(999, 24), numbers(40, 24), numbers(999, 24)]),
        (strided, [integers(1, 11, 13, 8, dtype="uint8"), integers(8, 4, 2, 8), None, numbers(40, 1), None]),
        (pointwise, [integers(1, 3, 5, 64), integers(8, 1, 1, 64), None, numbers(1 << 23, 8), numbers(1 << 30, 8)]),
        (pointwise, [integers(1, 15, 13, 4), integers(16, 1, 1, 4), None, numbers(1 << 30, 16), None]),
    ]


def rows() -> list[Case]:
    """Fewer pieces than items, and more than an item reads early; totals, and requantised."""
    row = MatMul(trans_b=True)
    many = replace(row, requant=SMALL)
    return [
        (row, [integers(1, 48), integers(33, 48), None]),
        (row, [integers(1, 16, dtype="uint8"), integers(3, 16), numbers(999, 3)]),
        (many, [integers(1, 2048), integers(20, 2048), numbers(999, 20), numbers(9, 20), numbers(999, 20)]),
        (many, [integers(1, 1552), integers(17, 1552), None, numbers(9, 1), None]),
    ]


@pytest.mark.in_turns(6)
def test_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_windows, "FEWEST_PIXELS", 0)
    check_kernels([*windows(), *rows()], target="gpu")


@pytest.mark.fast
def test_what_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer windows, filters that are no multiple, and layers of few pixels stay in tiles."""
    monkeypatch.setattr(short_windows, "FEWEST_PIXELS", 40)
    conv = replace(LAST, requant=SMALL)
    odd: list[Case] = [(conv, [integers(1, 9, 7, 4), integers(20, 3, 3, 4), None, numbers(9, 20), None])]
    long: list[Case] = [(conv, [integers(1, 9, 7, 8), integers(8, 3, 3, 8), None, numbers(9, 8), None])]
    few: list[Case] = [(conv, [integers(1, 3, 3, 4), integers(8, 3, 3, 4), None, numbers(9, 8), None])]
    two: list[Case] = [(MatMul(trans_b=True), [integers(2, 48), integers(33, 48), None])]
    kernels = [stem_of(case) for case in (windows()[0], windows()[3], rows()[0], *odd, *long, *few, *two)]
    assert kernels[:3] == ["gpu_conv_short", "gpu_conv_short", "gpu_matmul_row"]
    assert not any("short" in stem or "row" in stem for stem in kernels[3:])


def stem_of(case: Case) -> str:
    """The kernel that computes it, without its types."""
    op, arrays = case
    builder = Builder("one")
    names = ["" if array is None else builder.input(f"x{i}", type_of(array)) for i, array in enumerate(arrays)]
    builder.output(*builder.add(op, names, name="one"))
    planned = pipeline.stage(builder.build(), "gpu", "schedule")
    (stem,) = (layer.kernel.stem for layer in planned.layers if layer.node.op.kind == op.kind)
    return str(stem.partition("_i8")[0].partition("_u8")[0])
