"""Sums of gradients: the kernel against its operator, and what becomes one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.where import Where
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.accumulation import KERNELS
from tilewright.targets.pulp.accumulation_operator import Accumulation
from tilewright.targets.pulp.fuse_accumulation import FUSE_ACCUMULATION


def drawn(seed: int) -> Case:
    draw = Draw(seed)
    shape = [draw.size(40), draw.size(30)]
    a, b = (draw.array("float32", *shape) for _ in range(2))
    return Case(KERNELS[0], Accumulation(), [np.array([draw.flag()]), a, b])


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    check(share([drawn(seed) for seed in range(24)], cores), SIRACUSA, cores)


def choice(condition: tuple[int, ...] = (1,), begins: str = "g", is_read: bool = False, turned: bool = False) -> Graph:
    builder = Builder("net")
    builder.input("c", TensorType("bool", condition))
    for name in ("g", "buffer", "other"):
        builder.input(name, TensorType("float32", (3, 4)))
    (total,) = builder(Add(), ["g", "buffer"] if turned else ["buffer", "g"])
    builder.output(builder(Where(), ["c", begins, total])[0], "y")
    if is_read:
        builder.output(total, "total")
    return builder.build()


@pytest.mark.parametrize("turned", [False, True])
def test_what_becomes_one(turned: bool) -> None:
    (node,) = FUSE_ACCUMULATION.run(choice(turned=turned)).nodes
    assert node.op == Accumulation()
    assert node.inputs == ("c", "g", "buffer")


@pytest.mark.parametrize("graph", [choice((3, 4)), choice(begins="other"), choice(is_read=True)])
def test_what_stays(graph: Graph) -> None:
    assert [node.op.kind for node in FUSE_ACCUMULATION.run(graph).nodes] == ["Add", "Where"]
