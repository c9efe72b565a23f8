"""Layers that are planned as others were have the options that they would have alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

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
from tilewright.planner.cluster.candidates import layer_options, layers_of, limits_of
from tilewright.planner.cluster.capacity import l1_budget
from tilewright.planner.cluster.lifetimes import steps_of
from tilewright.planner.cluster.tiling_option import Layer, Limits
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import map_nodes
from tilewright.target.settings import Settings

SIZE = 32
BYTES = full_range(16, "int8")


def scaling(mul: int) -> Scaling:
    return Scaling(mul, 0, BYTES)


def chain(operators: Sequence[Op]) -> Graph:
    """Each on the result of the one before, and on the input or a constant of its own."""
    builder = Builder("chain")
    first = last = builder.input("x", TensorType("int8", (1, SIZE, SIZE)))
    for number, op in enumerate(operators):
        others = [first]
        if isinstance(op, MatMul):
            weights = np.full((SIZE, SIZE), number, np.int8)
            weights[0] = -number - 1
            scale = [builder.constant(np.array([value], np.int32)) for value in (900, 0)]
            others = [builder.constant(weights), "", *scale]
        (last,) = builder(op, [last, *others])
    builder.output(last)
    return builder.build()


def groups_of(graph: Graph, settings: Settings) -> tuple[list[list[Layer]], Limits]:
    """Every layer with all kernels, its activations being free to live in L1."""
    mapped = map_nodes(graph, targets.find("siracusa"))
    budget, inside = l1_budget(mapped, settings), insides(mapped.graph)
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


@pytest.mark.parametrize(("name", "l1"), list(product(OPERATORS, [None, 9_000])))
def test_options_are_those_of_a_layer_alone(name: str, l1: int | None) -> None:
    groups, limits = groups_of(chain(OPERATORS[name]), Settings(l1=l1))
    alone = [layer_options([group], limits)[0] for group in groups]
    assert layer_options(groups, limits) == alone
    assert all(found.options for found in alone)


@pytest.mark.parametrize(("name", "sorts"), [("products", 1), ("sums", 2), ("matrix products", 1)])
def test_numbers_that_decide_nothing_are_not_looked_at(name: str, sorts: int) -> None:
    """Sums in which an operand stays as it is are faster: these are planned for themselves."""
    groups, _ = groups_of(chain(OPERATORS[name]), Settings())
    layers = [layer for group in groups for layer in group[-1:]]
    assert len({layer.node.op for layer in layers}) == len(NUMBERS)
    assert len({decisive(layer.kernel, layer) for layer in layers}) == sorts


def decisive(kernel: Kernel, layer: Layer) -> object:
    return kernel, kernel.decisive(layer.node.op, layer.types)
