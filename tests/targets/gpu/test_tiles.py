"""Products tile by tile, as C of this machine, and the choice of tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder
from tilewright.ir.requant import Requant
from tilewright.ir.types import type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.target.settings import Settings
from tilewright.targets.gpu.tile_costs import H200, costs, kept_file, scaled, write
from tilewright.targets.gpu.tile_fit import fitted
from tilewright.targets.gpu.tiles import Product, choices, chosen, predicted

pytestmark = pytest.mark.in_turns(6)

RANDOM = np.random.default_rng(34)
LAST = Conv((1, 1), (1, 1), (1, 1, 1, 1), channels_last=True)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(*shape: int, dtype: str = "int8") -> np.ndarray:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


def float_cases() -> list[Case]:
    """Whole tiles and others, with words, pairs of words and 16 bytes at a time, alone and shared."""
    strided = replace(LAST, strides=(2, 1), dilations=(1, 2), padding=(2, 0, 1, 3), activation=Relu())
    return [
        (LAST, [floats(1, 9, 7, 8), floats(20, 3, 3, 8), floats(20)]),
        (strided, [floats(2, 11, 13, 3), floats(9, 3, 2, 3), floats(9)]),
        (LAST, [floats(1, 5, 6, 96), floats(33, 3, 3, 96), None]),
        (LAST, [floats(1, 40, 45, 4), floats(70, 3, 3, 4), floats(70)]),
        (MatMul(trans_b=True), [floats(5, 700), floats(40, 700), floats(40)]),
        (MatMul(trans_b=True, activation=Relu()), [floats(2, 30, 16), floats(65, 16), floats(2, 30, 65)]),
        (MatMul(trans_b=True), [floats(3, 7), floats(6, 7), None]),
        (MatMul(trans_b=True), [floats(7, 50), floats(12, 50), None]),
    ]


def integer_cases() -> list[Case]:
    """With zero points, in padding too, and requantised."""
    small = Requant(14, "int8", -128, 127, zero_point=3)
    conv = replace(LAST, x_zero=5, requant=small)
    wide = replace(LAST, x_zero=200)
    mul = RANDOM.integers(1, 40, 20).astype(np.int32)
    bias, add = (RANDOM.integers(-999, 999, 20).astype(np.int32) for _ in range(2))
    return [
        (conv, [integers(1, 9, 7, 16), integers(20, 3, 3, 16), bias, mul, add]),
        (wide, [integers(1, 6, 5, 4, dtype="uint8"), integers(20, 3, 3, 4), bias]),
        (wide, [integers(1, 5, 5, 160, dtype="uint8"), integers(20, 3, 3, 160), None]),
        (MatMul(trans_b=True, a_zero=-7), [integers(9, 48), integers(33, 48), None]),
        (MatMul(trans_b=True, a_zero=-7, requant=small), [integers(9, 2048), integers(20, 2048), bias, mul, add]),
    ]


def test_floats() -> None:
    check_kernels(float_cases(), target="gpu")


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.one_in(2)
def test_floats_in_16_bits(precision: str) -> None:
    """Rows that are copied by 16 bytes, by 8, by words, and by elements."""
    settings = Settings(precision=precision)
    check_kernels(float_cases(), target="gpu", settings=settings)


@pytest.mark.fast
def test_kernels_of_16_bits() -> None:
    """Every product of floats has tiles, whatever its rows are."""
    builder = Builder("products")
    for number, (op, arrays) in enumerate(float_cases()):
        x = builder.input(f"x{number}", type_of(np.asarray(arrays[0])))
        w = [builder.constant(array, f"c{number}_{i}") for i, array in enumerate(arrays[1:]) if array is not None]
        builder.output(*builder.add(op, [x, *w]))
    planned = pipeline.stage(builder.build(), "gpu", "schedule", settings=Settings(precision="fp16"))
    taken = {layer.kernel.stem for layer in planned.layers if layer.node.op.kind in ("Conv", "MatMul")}
    assert {stem.rsplit("_", 1)[1] for stem in taken} == {"tiles", "pairs", "words", "elements"}


def test_integers() -> None:
    check_kernels(integer_cases(), target="gpu")


@pytest.mark.parametrize("inner", [1, 15, 64, 100, 4608])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_parts_cover_the_inner_dimension(inner: int, size: int) -> None:
    for rows, columns in ((1, 1), (49, 512), (197, 3072), (12544, 64)):
        choice = chosen(Product(rows, columns, inner, size))
        steps = -(-inner * size // choice.tile.row_bytes)
        assert (choice.splits - 1) * choice.steps < steps <= choice.splits * choice.steps
        assert (choice.scratch > 0) == (choice.splits > 1)


def test_few_long_products_are_shared() -> None:
    assert chosen(Product(49, 512, 4608, 4)).splits > 1
    assert chosen(Product(12544, 64, 147, 4)).splits == 1


@pytest.mark.fast
def test_numbers_of_another_gpu_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From times that its model predicts, beginning with those of a GPU that is twice as fast; and they are kept."""
    other = scaled(H200, "other", 60, 0.5)
    products = [Product(*sizes, size=4) for sizes in ((49, 512, 4608), (784, 128, 1152), (197, 768, 768), (64, 64, 64))]
    measured = [
        (product, choice, predicted(product, choice, other)) for product in products for choice in choices(product)
    ]
    found = fitted(measured, scaled(H200, "other", 60, 1.0))
    for product, choice, time in measured:
        assert predicted(product, choice, found) == pytest.approx(time, rel=0.05)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    kept_file().write_text(write(found))
    assert costs.__wrapped__().chip == "other"
    kept_file().write_text("{}")
    with pytest.raises(CompileError, match=r"(?s)gpu_tiles.json.*cannot be read.*--keep"):
        costs.__wrapped__()
