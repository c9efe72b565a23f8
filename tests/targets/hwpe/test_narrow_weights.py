"""Weights of 2 to 7 bits: the same numbers in every form that an engine takes them in, and fewer bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tiled import evaluate_tiled
from tests.targets.hwpe.narrow_layers import cases, forms_of, narrow_pixels, narrow_product
from tests.targets.hwpe.neureka_layers import Layer, offered, operands
from tests.targets.hwpe.test_neureka import check_cycles
from tests.targets.pulp.machine import CLUSTER, NEUREKA, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.calibration.measuring import case_features
from tilewright.run.kernel_bench import check
from tilewright.target.cost_model import predict
from tilewright.targets.hwpe.row import NeurekaRow

pytestmark = pytest.mark.in_turns(6)

BITS = (2, 3, 4, 5, 6, 7)
PACKED = (2, 3, 4)
any_bits = pytest.mark.parametrize("bits", BITS)


def drawn(bits: int, count: int) -> list[Layer]:
    return [narrow_product(seed, bits) for seed in range(count)] + [narrow_pixels(seed, bits) for seed in range(count)]


@any_bits
def test_forms_mean_what_the_graph_means(bits: int) -> None:
    found = 0
    for one in offered(drawn(bits, 40)):
        for offer in (*forms_of(NEUREKA, one), *forms_of(CLUSTER, one)):
            arrays = operands(offer, one.image)
            np.testing.assert_array_equal(offer.op.numpy(*arrays), one.expected, str(offer.op))
            found += 1
    assert found >= (40 if bits in PACKED else 8)


@any_bits
def test_tiles_of_forms_are_parts_of_the_whole(bits: int) -> None:
    for seed, one in enumerate(offered(drawn(bits, 12))):
        for offer in (*forms_of(NEUREKA, one), *forms_of(CLUSTER, one)):
            arrays, draw = operands(offer, one.image), Draw(seed)
            shapes = {name: array.shape for name, array in offer.op.bind(arrays).items()}
            tile = {loop: draw.size(extent) for loop, extent in offer.op.extents(shapes).items()}
            (made,) = evaluate_tiled(offer.op, arrays, tile)
            np.testing.assert_array_equal(made, one.expected, f"{offer.op} {tile}")


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("cores", CORES)
def test_kernels_of_the_npu(cores: int) -> None:
    found = [
        case for bits in BITS for i, one in enumerate(offered(drawn(bits, 4))) for case in cases(NEUREKA, one, i % 4)
    ]
    assert {type(case.op) for case in found} == {NeurekaRow}
    found = share(found, cores)
    for case, measured in zip(found, check(found, SIRACUSA, cores), strict=True):
        check_cycles(case, measured, cores)


@pytest.mark.parametrize("cores", CORES)
def test_kernels_of_the_cluster(cores: int) -> None:
    found = [
        case for bits in PACKED for i, one in enumerate(drawn(bits, 9)) for case in cases(CLUSTER, one, 4 * (i % 4))
    ]
    fast = [case for case in found if case.kernel.stem == "matmul_packed_dots"]
    assert len(fast) >= 40
    fast = share(fast, cores)
    for case, measured in zip(fast, check(fast, SIRACUSA, cores), strict=True):
        predicted = predict(SIRACUSA.costs.kernels[case.kernel.stem], case_features(case, cores))
        assert predicted == pytest.approx(measured.cycles, rel=0.3, abs=300), (str(case.op), case.types)
