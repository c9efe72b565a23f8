"""Sums by channel of products: the kernel against its operator, and what becomes one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.mul import Mul
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.channel_sums import kernels
from tilewright.targets.pulp.channel_sums_operator import ProductSum
from tilewright.targets.pulp.fuse_channel_sums import FUSE_CHANNEL_SUMS

(PRODUCTS,) = kernels(8)


def drawn(seed: int) -> Case:
    draw = Draw(seed)
    shape = [draw.size(30), draw.size(5), draw.size(19)]
    return Case(PRODUCTS, ProductSum(), [draw.array("float32", *shape) for _ in range(2)])


@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    check(share([drawn(seed) for seed in range(20)], cores), SIRACUSA, cores)


def net(
    scaling: Op, total: Op, operands: tuple[str, ...] = ("x", "z"), is_read: bool = False, height: int = 5
) -> Graph:
    builder = Builder("net")
    for name in ("x", "z"):
        builder.input(name, TensorType("float32", (1, height, 4, 8)))
    for name in ("s", "b"):
        builder.constants[name] = np.linspace(-1, 1, 8, dtype=np.float32)
        builder.types[name] = TensorType("float32", (8,))
    (found,) = builder(scaling, list(operands))
    builder.output(builder(total, [found])[0], "y")
    if is_read:
        builder.output(found, "found")
    return builder.build()


ROWS = (0, 1, 2)
SCALED = ("x", "s", "b")


def products(height: int = 5) -> Graph:
    return net(Mul(), ReduceSum(ROWS, False), height=height)


@pytest.mark.parametrize("height", [5, 256])
def test_what_becomes_one(height: int) -> None:
    (node,) = FUSE_CHANNEL_SUMS.run(products(height)).nodes
    assert node.op == ProductSum()
    assert node.inputs == ("x", "z")


@pytest.mark.parametrize(
    "graph",
    [
        net(Mul(), ReduceSum(ROWS, True)),
        net(Mul(), ReduceSum((1, 2), False)),
        net(Mul(), ReduceSum((0, 1, 2, 3), False)),
        net(Mul(), ReduceSum(ROWS, False), ("x", "s")),
        products(height=257),  # in tiles of a few channels
        net(Mul(), ReduceSumSquare(ROWS, False)),
        net(Mul(), ReduceSum(ROWS, False), is_read=True),
        net(BatchNormalization(axis=3), ReduceSum(ROWS, False), SCALED),
    ],
)
def test_what_stays(graph: Graph) -> None:
    assert FUSE_CHANNEL_SUMS.run(graph).nodes == graph.nodes
