"""What N-EUREKA offers for layers: the same numbers in numpy, whole and in tiles, and on the virtual SoC."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tests.support.tiled import evaluate_tiled
from tests.targets.hwpe.neureka_layers import (
    Layer,
    conv_layer,
    extreme_layer,
    gathered_layer,
    grouped_layer,
    heads_layer,
    matmul_layer,
    offered,
    operands,
    parts_layer,
    row_layer,
    wide_layer,
)
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.types import Array
from tilewright.run.kernel_bench import Case, Measured, check
from tilewright.targets.hwpe.conv import NeurekaConv
from tilewright.targets.hwpe.cycles import START, job_cycles
from tilewright.targets.hwpe.finish import EXACT, HIGH, MULTIPLIED, NARROW, TIES, TOP
from tilewright.targets.hwpe.gathered import NeurekaGathered
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.op import BY_CORES, BY_NPU, THINNED, Neureka
from tilewright.targets.hwpe.parts import NeurekaParts

pytestmark = pytest.mark.in_turns(8)


def depthwise_layer(seed: int) -> Layer:
    return conv_layer(seed, depthwise=True)


KINDS: list[Callable[[int], Layer]] = [
    matmul_layer, extreme_layer, wide_layer, row_layer, heads_layer, conv_layer, depthwise_layer, gathered_layer,
    parts_layer, grouped_layer,
]  # fmt: skip
any_kind = pytest.mark.parametrize("draw_layer", KINDS, ids=lambda kind: kind.__name__)


MOST = 100


def layers(draw_layer: Callable[[int], Layer], count: int) -> list[Layer]:
    found = all_layers(draw_layer)[: round(0.75 * count)]
    assert len(found) == round(0.75 * count)
    return found


@cache
def all_layers(draw_layer: Callable[[int], Layer]) -> list[Layer]:
    """Drawn once for all tests; most of them are such that there is an offer."""
    return offered([draw_layer(seed) for seed in range(MOST)])


@pytest.mark.in_turns(8)
@any_kind
def test_offers_mean_what_the_graph_means(draw_layer: Callable[[int], Layer]) -> None:
    for layer in layers(draw_layer, MOST):
        offer = layer.offer
        found = offer.op.numpy(*operands(offer, layer.image))
        assert found.dtype == layer.expected.dtype
        np.testing.assert_array_equal(found, layer.expected, str(layer.node.op))
        assert offer.op.macs(shapes(operands(offer, layer.image), offer.op)) == layer.graph.macs(layer.node)


@pytest.mark.in_turns(8)
@any_kind
def test_tiles_are_parts_of_the_whole(draw_layer: Callable[[int], Layer]) -> None:
    for seed, layer in enumerate(layers(draw_layer, 60)):
        offer, draw = layer.offer, Draw(seed)
        arrays = operands(offer, layer.image)
        extents = offer.op.extents(shapes(arrays, offer.op))
        tile = {loop: draw.size(extent) for loop, extent in extents.items()}
        (found,) = evaluate_tiled(offer.op, arrays, {loop: size for loop, size in tile.items() if loop not in "rs"})
        np.testing.assert_array_equal(found, layer.expected, f"{offer.op} {tile}")


@pytest.mark.in_turns(8)
@any_kind
def test_kernels(draw_layer: Callable[[int], Layer]) -> None:
    check_kernels(cases_of(draw_layer, CORES[-1]), CORES[-1])


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("cores", CORES[:-1])
def test_kernels_on_fewer_cores(cores: int) -> None:
    check_kernels([case for draw_layer in KINDS for case in cases_of(draw_layer, cores)], cores)


def cases_of(draw_layer: Callable[[int], Layer], cores: int) -> list[Case]:
    found = enumerate(layers(draw_layer, 5 * cores))
    return share([case for i, layer in found for case in layer.cases(i % 4)], cores)


def check_kernels(cases: list[Case], cores: int) -> None:
    for case, measured in zip(cases, check(cases, SIRACUSA, cores), strict=True):
        check_cycles(case, measured, cores)


BETWEEN = 100
"""Cycles of the bench around a call."""
LONGEST_STORE = 8


def check_cycles(case: Case, measured: Measured, cores: int) -> None:
    """N-EUREKA's time is known but for banks that single bytes keep busy; that of the cores is an estimate."""
    op, types = case.op, case.types
    assert isinstance(op, Neureka)
    assert case.kernel.cycles is not None
    jobs = op.jobs(types, bool(case.kernel.resident))
    model = op.batch(types) * sum(job_cycles(job) - START for job in jobs)
    stores = op.batch(types) * sum(job.height * job.width * -(-job.filters // job.out_tile) for job in jobs)
    assert model <= measured.busy["n-eureka"] / 2 <= 1.06 * model + LONGEST_STORE * stores, str(op)
    spent = case.kernel.cycles(op, types, op.extents(shapes(case.arrays, op)), cores)
    assert spent.submitting + spent.engine + spent.cores + BETWEEN == pytest.approx(
        measured.cycles, rel=0.3, abs=300
    ), (
        str(op),
        types,
    )


def test_every_kind_of_layer_is_among_them() -> None:
    ops = [layer.offer.op for kind in KINDS for layer in layers(kind, 40)]
    neurekas = [op for op in ops if isinstance(op, Neureka)]
    assert {op.made for op in neurekas} == {BY_NPU, BY_CORES, THINNED}
    assert {op.finishing.mode for op in neurekas if op.finishing} == {HIGH, NARROW, EXACT, TIES, TOP, MULTIPLIED}
    halves = [op for op in neurekas if op.finishing and op.finishing.mode == MULTIPLIED]
    assert {NeurekaLinear, NeurekaConv, NeurekaGathered, NeurekaParts} <= {type(op) for op in halves}
    assert {op.shift > 0 for op in halves} == {False, True}
    bare = [op for op in neurekas if op.bare]
    assert {op.finishing.mode for op in bare if op.finishing} == {HIGH, EXACT, TIES}
    assert {op.finishing.lift > 0 for op in bare if op.finishing} == {False, True}
    assert len({op.bits for op in neurekas}) > 4
    convs = [op for op in ops if isinstance(op, NeurekaConv)]
    assert {op.rank for op in convs} == {1, 2}
    assert len({op.mode for op in convs}) == 3
    assert {(1, 1), (1, 3), (2, 2), (3, 3)} <= {op.kernel for op in convs}
    assert len({op.padding for op in convs if op.kernel == (3, 3)}) > 8


def shapes(arrays: list[Array | None], op: Neureka) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in op.bind(list(arrays)).items()}
