"""Sums of two tensors by N-EUREKA: what the graph means, wherever the tensors lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.support.networks import those_there
from tests.support.stand_ins import Network, network_id, onnx_model, quantised_residual
from tests.support.tiled import evaluate_tiled
from tests.targets.pulp.machine import NEUREKA, SIRACUSA
from tests.targets.pulp.random_cases import Draw
from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits, type_of
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes.numerics.sums import native_sum
from tilewright.run import kernel_bench
from tilewright.run.kernel_bench import Case, CasePlaces, check
from tilewright.target.target import Offer, Target
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.encoding import WIDE
from tilewright.targets.hwpe.sum import NeurekaSum

SHAPES = [(1, 16, 16, 32), (1, 9, 7, 5), (3,), (28,), (56,), (2, 337), (1, 32, 32, 16), (5, 5, 5, 1)]


def summed(op: QLinearAdd, *arrays: Array) -> tuple[Graph, list[Array]]:
    builder = Builder("sum")
    names = [builder.input(f"x{i}", type_of(array)) for i, array in enumerate(arrays)]
    builder.output(*builder(op, names, ["y"]))
    return builder.build(), list(arrays)


def drawn(seed: int) -> tuple[Graph, list[Array]]:
    """A sum as networks have them after their numerics were chosen; int8 or uint8 throughout."""
    draw, random = Draw(seed), np.random.default_rng(seed)
    dtype = ("int8", "uint8")[seed % 2]
    low, high = limits(dtype)
    result = ("int8", "uint8")[seed // 2 % 2]
    ends = limits(result)
    zero = int(random.integers(*ends))
    first, second = (int(value) for value in random.integers(2**19, 2**22, 2))
    offset = -(first + second) * ((low + high) // 2) + int(random.integers(-(2**25), 2**25))
    exact = QLinearAdd(first, second, offset, Requant(21, result, *ends, zero, "half_even"))
    found = native_sum(exact, dtype, dtype)
    assert found is not None
    shape = SHAPES[seed % len(SHAPES)]
    return summed(found.op, draw.array(dtype, *shape), draw.array(dtype, *shape))


def offered(graph: Graph) -> Offer:
    assert NEUREKA.offer is not None
    return NEUREKA.offer(graph, graph.nodes[0])


def operands(graph: Graph, arrays: list[Array]) -> tuple[Offer, list[Array | None]]:
    offer = offered(graph)
    return offer, [*arrays, *(offer.constants[name] for name in offer.inputs[2:])]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(16))
def test_offers_mean_what_the_graph_means(seed: int) -> None:
    graph, arrays = drawn(seed)
    offer, all_of_them = operands(graph, arrays)
    expected = graph.nodes[0].op.numpy(*arrays)
    found = offer.op.numpy(*all_of_them)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    extents = offer.op.extents({"A": arrays[0].shape})
    tile = {loop: Draw(seed).size(extent) for loop, extent in extents.items()}
    (tiled,) = evaluate_tiled(offer.op, all_of_them, tile)
    np.testing.assert_array_equal(tiled, expected)


def as_they_come(layout: CasePlaces) -> CasePlaces:
    return layout


def the_second_first(layout: CasePlaces) -> CasePlaces:
    a, b = layout.places["A"], layout.places["B"]
    return replace(layout, places={**layout.places, "A": b, "B": a})


def an_odd_way_apart(layout: CasePlaces) -> CasePlaces:
    return replace(layout, places={**layout.places, "B": layout.places["B"] + 1})


def far_apart(layout: CasePlaces) -> CasePlaces:
    return replace(layout, places={**layout.places, "B": layout.end + 70_000}, end=layout.end + 90_000)


def half_apart(layout: CasePlaces) -> CasePlaces:
    """By so much more than their size that some elements have nothing two rows before."""
    return replace(layout, places={**layout.places, "B": layout.end}, end=layout.end + 20_000)


PLACES = [as_they_come, the_second_first, an_odd_way_apart, far_apart, half_apart]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("moved", PLACES, ids=lambda moved: moved.__name__)
def test_kernels(monkeypatch: pytest.MonkeyPatch, moved: Callable[[CasePlaces], CasePlaces]) -> None:
    plain = kernel_bench._layout

    def placed(case: Case, target: Target) -> CasePlaces:
        return moved(plain(case, target))

    monkeypatch.setattr(kernel_bench, "_layout", placed)
    cases = []
    for seed in range(8):
        offer, arrays = operands(*drawn(seed))
        cases += [Case(kernel, offer.op, arrays) for kernel in NEUREKA.kernels if kernel.op is NeurekaSum]
    check(cases, SIRACUSA, 8)


def test_a_tensor_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, (x, _) = drawn(0)
    plain = kernel_bench._layout

    def placed(case: Case, target: Target) -> CasePlaces:
        layout = plain(case, target)
        return replace(layout, places={**layout.places, "B": layout.places["A"]})

    monkeypatch.setattr(kernel_bench, "_layout", placed)
    offer, arrays = operands(graph, [x, x])
    check([Case(kernel, offer.op, arrays) for kernel in NEUREKA.kernels if kernel.op is NeurekaSum], SIRACUSA, 8)


@pytest.mark.parametrize("resident", [True, False])
def test_neighbours_take_what_is_predicted(monkeypatch: pytest.MonkeyPatch, resident: bool) -> None:
    """One right behind the other, two rows at a time."""
    plain = kernel_bench._layout

    def placed(case: Case, target: Target) -> CasePlaces:
        layout = plain(case, target)
        return replace(layout, places={**layout.places, "B": layout.places["A"] + case.types["A"].bytes})

    monkeypatch.setattr(kernel_bench, "_layout", placed)
    offer, arrays = operands(*drawn(6))
    kernels = [one for one in NEUREKA.kernels if one.op is NeurekaSum and bool(one.resident) == resident]
    (case,) = [Case(kernel, offer.op, arrays) for kernel in kernels]
    (measured,) = check([case], SIRACUSA, 8)
    assert isinstance(offer.op, NeurekaSum)
    elements = case.types["Y"].elements
    model = job_cycles(offer.op.job(case.types, resident, 2, elements // 2 // WIDE))
    assert model <= measured.busy["n-eureka"] / 2 <= 1.15 * model + 300
    assert case.kernel.cycles is not None
    estimate = case.kernel.cycles(offer.op, case.types, offer.op.extents({"A": arrays[0].shape}), 8)  # type: ignore[union-attr]
    assert estimate.submitting + estimate.engine == pytest.approx(measured.cycles, rel=0.2, abs=300)


NATIVE = QLinearAdd(300, 200, 5, Requant(9, "int8", -128, 127, 3, "half_up"))
ONES = np.ones((2, 8), np.int8)
REFUSED = {
    "N-EUREKA adds tensors of one shape": summed(NATIVE, ONES, ONES[:1]),
    "N-EUREKA adds two int8 or two uint8 tensors": summed(NATIVE, ONES, ONES.astype(np.uint8)),
    "one of them negative": summed(replace(NATIVE, mul_a=-3), ONES, ONES),
    "which are not 8-bit factors times a common one": summed(replace(NATIVE, mul_a=1001), ONES, ONES),
    "rounded half_even, it takes all of the product": summed(
        replace(NATIVE, requant=Requant(9, "int8", -128, 127, 3, "half_even")), ONES, ONES
    ),
    "results are clipped to 0 and 100": summed(
        replace(NATIVE, requant=Requant(9, "int8", 0, 100, 3, "half_up")), ONES, ONES
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals(reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        offered(REFUSED[reason][0])


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("network", [quantised_residual, *those_there("qdq/resnet8_cifar/int8.onnx")], ids=network_id)
def test_residual_networks_add_on_n_eureka(network: Network) -> None:
    """All three sums of a residual network, of which one adds a rectified image to what is not; side by side in L1."""
    program = tw.compile(onnx_model(network), target="siracusa")
    steps = [step for step in program.plan.steps if isinstance(step.option.node.op, NeurekaSum)]
    assert len(steps) == 3
    for step in steps:
        (a, b), plan = step.option.node.inputs[:2], program.plan
        assert abs(plan.homes[a].offset - plan.homes[b].offset) == plan.mapped.graph.types[a].bytes
    check = program.check()
    assert check.agrees, str(check.first_difference)
    assert check.result.cycles is not None
    assert check.result.cycles < 115_000
