"""Kernels of Cortex-M cores: layers of bytes in every rounding, equal to numpy to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.rv32.machine import kernels, run_graph, run_on_board
from tests.targets.rv32.test_kernels import KINDS, conv, product, some_bytes
from tilewright.ir.graph import Builder
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.transpose import Transpose
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(8)


def run(cases: Sequence[Case], target: str = "cortex-m4") -> set[str]:
    compiled, _ = run_on_board(cases, Settings(), target=target)
    return set(kernels(compiled))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_convolutions(target: str) -> None:
    random = default_rng(1)
    used = run([conv(random, kind) for kind in KINDS * 5], target)
    assert used == ({"conv_pairs", "conv_pairs_apart"} if target == "cortex-m4" else {"conv_blocked"})


def test_products() -> None:
    random = default_rng(3)
    used = run([product(random, kind) for kind in KINDS * 3])
    assert used == {"matmul_pairs", "matmul_pairs_apart", "conv_pairs", "conv_pairs_apart"}


def by_row(random: Generator, rounding: str) -> Case:
    """Factors that differ from row to row."""
    rows, inner, columns = 7, 20, 6
    a, b = some_bytes(random, "int8", rows, inner), some_bytes(random, "int8", inner, columns)
    mul, add = (random.integers(1, 2000, (rows, 1)).astype(np.int32) for _ in range(2))
    return MatMul(requant=full_range(16, "int8", 3, rounding)), [a, b, None, mul, add]


def test_products_with_factors_of_rows() -> None:
    random = default_rng(4)
    assert run([by_row(random, rounding) for rounding in ("half_up", "half_even")]) == {"matmul_panels"}


def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    used = run([conv(random, kind, depthwise=True) for kind in KINDS * 6])
    assert used == {"depthwise_windows", "depthwise_taps"}


def test_images_with_channels_last() -> None:
    """Convolutions read them as they are: nothing is transposed."""
    random, builder, feeds = default_rng(8), Builder("images"), dict[str, Array]()
    for number, (channels, kernel, stride) in enumerate([(3, 3, 2), (1, 4, 1), (4, 3, 1), (5, 1, 1)]):
        image = some_bytes(random, "int8", 2, 9, 11, channels)
        feeds[builder.input(f"image{number}", type_of(image))] = image
        weights = random.integers(-127, 128, (7, channels, kernel, kernel)).astype(np.int8)
        (turned,) = builder.add(Transpose((0, 3, 1, 2)), [f"image{number}"])
        op = Conv((stride, stride), padding=(1, 1, 1, 0), x_zero=-4, requant=full_range(0, "int8", -128, "double"))
        scales = np.full(7, (1 << 30) + 12345, np.int32), np.full(7, -5, np.int32)
        constants: tuple[Array, ...] = (weights, random.integers(-500, 500, 7).astype(np.int32), *scales)
        names = [builder.constant(array, f"c{number}_{place}") for place, array in enumerate(constants)]
        builder.output(builder.add(op, [turned, *names], name=f"conv{number}")[0])
    compiled, _ = run_graph(builder.build(), feeds, Settings(), target="cortex-m33")
    assert set(kernels(compiled)) == {"conv_pairs"}


def test_sums_and_means() -> None:
    random, cases = default_rng(9), list[Case]()
    for rounding, low in (("half_up", -128), ("half_even", -128), ("half_up", -3)):
        requant = replace(full_range(12, "int8", -3, rounding), low=low)
        for shapes in (((3, 21), (3, 21)), ((3, 21), (1, 21)), ((3, 21), (3, 1))):
            operands: list[Array | None] = [some_bytes(random, "int8", *shape) for shape in shapes]
            cases.append((QLinearAdd(1000, 3001, 555, requant), operands))
    wide: list[Array | None] = [some_bytes(random, dtype, 5, 9) for dtype in ("int16", "int8")]
    cases.append((QLinearAdd(30000, 3001, -555, full_range(15, "int16", 0, "half_up")), wide))
    for target in ("cortex-m4", "cortex-m0plus", "rv32"):
        compiled, _ = run_on_board(cases, Settings(), inputs=2, target=target)
        assert set(kernels(compiled)) == {"qlinearadd_rows"}
    requant = full_range(30, "int8", 5, "half_even")
    means = [(2, 5, 5), (3, 1, 7), (4, 6, 9)]
    used = run(
        [(QLinearReduceMean((2, 3), True, -7, 1 << 30, requant), [some_bytes(random, "int8", 1, *s)]) for s in means]
    )
    assert used == {"qlinearreducemean_rows"}
