"""What N-EUREKA offers for layers: the same numbers in numpy, and on the virtual SoC by its kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.siracusa.machine import SIRACUSA
from tests.targets.siracusa.neureka_layers import Layer, conv_layer, matmul_layer, offered, operands
from tilewright.kernel_bench import check


def layers(kind: str, count: int) -> list[Layer]:
    if kind == "matmul":
        return [matmul_layer(seed) for seed in range(count)]
    return [conv_layer(seed, kind == "depthwise") for seed in range(count)]


KINDS = ("matmul", "conv", "depthwise")


@pytest.mark.parametrize("kind", KINDS)
def test_offers_mean_what_the_graph_means(kind: str) -> None:
    tried = layers(kind, 200)
    assert len(offered(tried)) >= 150
    for layer in offered(tried):
        offer = layer.offer
        found = offer.op.numpy(*operands(offer, layer.image))
        assert found.dtype == layer.expected.dtype
        np.testing.assert_array_equal(found, layer.expected, str(layer.node.op))


@pytest.mark.parametrize("kind", KINDS)
def test_kernels(kind: str) -> None:
    cases = [case for i, layer in enumerate(offered(layers(kind, 40))) for case in layer.cases(i % 4)]
    assert {bool(case.kernel.resident) for case in cases} == {False, True}
    check(cases, SIRACUSA)
