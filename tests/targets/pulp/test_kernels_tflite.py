"""TensorFlow Lite's roundings in the cluster's kernels and N-EUREKA's, against their operators' numpy meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.tflite_draws import ScaledDraw, scaled_add
from tests.targets.hwpe import neureka_layers
from tests.targets.hwpe.neureka_layers import Layer, conv_layer, gathered_layer, matmul_layer, offered, operands
from tests.targets.pulp import test_kernels_linear
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tests.targets.pulp.test_kernels_linear import conv, fitting, matmul, wide_conv
from tilewright.ops.requantshift import RequantShift
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.hwpe.finish import EXACT, SCALED
from tilewright.targets.hwpe.op import Neureka
from tilewright.targets.pulp import dialect, tflite_sums


@pytest.fixture(autouse=True)
def scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases of other roundings, with these."""
    monkeypatch.setattr(test_kernels_linear, "Draw", ScaledDraw)
    monkeypatch.setattr(neureka_layers, "Draw", ScaledDraw)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_products(cores: int) -> None:
    cases = [matmul(seed, "matmul_dots.c") for seed in range(40)]
    cases += fitting([matmul(seed, "matvec_dots.c", rows=3) for seed in range(120)], 30)
    check(share(cases, cores), SIRACUSA, cores)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_convolutions(cores: int) -> None:
    cases = [wide_conv(seed) for seed in range(20)]
    for source in ("conv_dots.c", "depthwise_dots.c"):
        cases += fitting([conv(seed, source) for seed in range(40)], 30)
    check(share(cases, cores), SIRACUSA, cores)


def requantisation(seed: int) -> Case:
    draw = ScaledDraw(seed)
    channels = draw.size(9)
    x = draw.between(-50000, 50000, draw.size(5), channels, draw.size(7))
    axis = 1 if draw.flag() else -1
    requant, (mul, add) = draw.requant(draw.byte(), 4000, (channels,) if axis > 0 else (1,))
    kernel = next(k for k in dialect.KERNELS if k.source == "requantshift_columns.c")
    add = np.zeros_like(mul) if add is None else add
    return Case(kernel, RequantShift(requant, axis), [x, mul, add], skew=seed % 4)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_requantisations_and_sums(cores: int) -> None:
    drawn = [scaled_add(Draw(seed)) for seed in range(60)]
    sums = [Case(tflite_sums.KERNELS[0], op, arrays, skew=i % 4) for i, (op, arrays) in enumerate(drawn)]
    cases = fitting(sums, 40) + [requantisation(seed) for seed in range(60)]
    check(share(cases, cores), SIRACUSA, cores)


KINDS: list[Callable[[int], Layer]] = [matmul_layer, conv_layer, gathered_layer]
any_kind = pytest.mark.parametrize("draw_layer", KINDS, ids=lambda kind: kind.__name__)


@pytest.mark.in_turns(10)
@any_kind
def test_offers_mean_what_the_graph_means(draw_layer: Callable[[int], Layer]) -> None:
    modes = set()
    for layer in offered([draw_layer(seed) for seed in range(80)]):
        offer = layer.offer
        np.testing.assert_array_equal(offer.op.numpy(*operands(offer, layer.image)), layer.expected, str(layer.node.op))
        assert isinstance(offer.op, Neureka)
        modes |= {offer.op.finishing.mode} if offer.op.finishing else set()
    assert {EXACT, SCALED} <= modes


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_neureka(cores: int) -> None:
    found = offered([draw_layer(seed) for draw_layer in KINDS for seed in range(12)])
    check(share([case for i, layer in enumerate(found) for case in layer.cases(i % 4)], cores), SIRACUSA, cores)
