"""Layers that are planned as others were have the options that they would have alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import product
from threading import Thread

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops._scaling import Scaling
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.passes.aliasing import all_owners, insides
from tilewright.planner.cluster import candidates
from tilewright.planner.cluster.candidates import layer_options, layers_of, limits_of
from tilewright.planner.cluster.capacity import tile_budget
from tilewright.planner.cluster.lifetimes import steps_of
from tilewright.planner.cluster.tiling_option import Layer, Limits
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import map_nodes
from tilewright.target.settings import Settings

SIZE = 32
BYTES = full_range(16, "int8")


def scaling(mul: int) -> Scaling:
    return Scaling(mul, 0, BYTES)


def chain(operators: Sequence[Op], names: str = "abcd") -> Graph:
    """Each on the result of the one before, and on the input or a constant of its own."""
    builder = Builder("chain")
    first = last = builder.input("x", TensorType("int8", (1, SIZE, SIZE)))
    for number, (op, name) in enumerate(zip(operators, names, strict=True)):
        others = [first]
        if isinstance(op, MatMul):
            weights = np.full((SIZE, SIZE), number, np.int8)
            weights[0] = -number - 1
            scale = [builder.constant(np.array([value], np.int32)) for value in (900, 0)]
            others = [builder.constant(weights), "", *scale]
        (last,) = builder(op, [last, *others], [name])
    builder.output(last)
    return builder.build()


def groups_of(graph: Graph, settings: Settings) -> tuple[list[list[Layer]], Limits]:
    """Every layer with all kernels, its activations being free to live in L1."""
    mapped = map_nodes(graph, targets.find("siracusa"))
    budget, inside = tile_budget(mapped, settings), insides(mapped.graph)
    owners = all_owners(mapped.graph, inside)
    movable = frozenset(owners.values()) - mapped.graph.constants.keys() - {*graph.inputs, *graph.outputs}
    nodes = steps_of(mapped.graph)
    found = [layers_of(mapped, settings, budget, node, owners, movable, inside) for node in nodes]
    return found, limits_of(budget, mapped, settings)


NUMBERS = (700, 1500, 65536, 60000)
OPERATORS = {
    "products": [QLinearMul(mul=mul, requant=BYTES) for mul in NUMBERS],
    "sums": [RequantizedAdd(scaling(mul), scaling(65536), scaling(mul)) for mul in NUMBERS],
    "matrix products": [MatMul(trans_b=True, requant=BYTES)] * 4,
}


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("name", "l1"), list(product(OPERATORS, [None, 9_000])))
def test_options_are_those_of_a_layer_alone(name: str, l1: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    groups, limits = groups_of(chain(OPERATORS[name]), Settings(l1=l1))
    alone = []
    for group in groups:
        monkeypatch.setattr(candidates, "_RECENT", deque())  # nothing is known of layers before
        alone += layer_options([group], limits)
    assert layer_options(groups, limits) == alone
    assert all(found.options for found in alone)


def test_other_networks_under_other_limits_have_their_own() -> None:
    """Which layers of other networks were planned before, and with how much L1, changes nothing."""
    wide, narrow = (groups_of(chain(OPERATORS["products"]), Settings(l1=l1)) for l1 in (None, 9_000))
    found = [layer_options(*one) for one in (wide, narrow, wide)]
    assert found[0] == found[2] != found[1]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("l1", [None, 9_000])
def test_names_in_another_order(l1: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Homes of activations are considered in the order of their names: options of a network that has been planned
    before are in its own order."""
    products = OPERATORS["matrix products"]
    rising, falling = (groups_of(chain(products, names), Settings(l1=l1)) for names in ("abcd", "dcba"))
    monkeypatch.setattr(candidates, "_RECENT", deque())
    alone = layer_options(*falling)
    monkeypatch.setattr(candidates, "_RECENT", deque())
    layer_options(*rising)
    assert layer_options(*falling) == alone


def test_what_is_known_is_never_taken_from_who_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_RECENT", deque())
    groups, limits = groups_of(chain(OPERATORS["products"]), Settings())
    layer_options(groups, limits)
    ((_, known),) = candidates._RECENT
    sorts, entry = len(known), next(iter(known.values()))
    known.update(dict.fromkeys(range(candidates.MANY), entry))
    layer_options(groups, limits)
    ((_, later),) = candidates._RECENT
    assert (len(known), len(later)) == (candidates.MANY + sorts, sorts)


def test_threads_that_plan_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One begins while another looks for what is known."""
    wide, narrow = (groups_of(chain(OPERATORS["products"]), Settings(l1=l1)) for l1 in (None, 9_000))
    others: list[Thread] = []

    class Compared:
        """Limits of neither."""

        def __eq__(self, other: object) -> bool:
            if not others:
                others.append(Thread(target=layer_options, args=narrow))
                others[0].start()
                others[0].join(0.5)
            return False

        __hash__ = None  # type: ignore[assignment]

    monkeypatch.setattr(candidates, "_RECENT", deque([(Compared(), {}), (Compared(), {})]))
    found = layer_options(*wide)
    others[0].join()
    assert found != layer_options(*narrow)
    assert found == layer_options(*wide)


@pytest.mark.parametrize(("name", "sorts"), [("products", 1), ("sums", 2), ("matrix products", 1)])
def test_numbers_that_decide_nothing_are_not_looked_at(name: str, sorts: int) -> None:
    """Sums in which an operand stays as it is are faster: these are planned for themselves."""
    groups, _ = groups_of(chain(OPERATORS[name]), Settings())
    layers = [layer for group in groups for layer in group[-1:]]
    assert len({layer.node.op for layer in layers}) == len(NUMBERS)
    assert len({planning_key(layer.kernel, layer) for layer in layers}) == sorts


def planning_key(kernel: Kernel, layer: Layer) -> object:
    return kernel, kernel.planning_key(layer.node.op, layer.types)
