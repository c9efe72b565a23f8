"""Sums of scaled tensors: the kernel against its operator, and what becomes one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.relu import Relu
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.fuse_scaled_sums import FUSE_SCALED_SUMS
from tilewright.targets.pulp.scaled_sum import KERNELS
from tilewright.targets.pulp.scaled_sum_operator import ScaledSum


def drawn(seed: int) -> Case:
    draw = Draw(seed)
    shape = [draw.size(30), draw.size(5), draw.size(19)]
    tensors = [draw.array("float32", *shape) for _ in range(2)]
    scale, bias, z_scale, z_bias = (draw.array("float32", shape[-1]) for _ in range(4))
    second = [[], tensors[1:], [tensors[1], z_scale, z_bias]][seed % 3]
    return Case(KERNELS[0], ScaledSum(draw.flag()), [tensors[0], scale, bias, *second])


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    check(share([drawn(seed) for seed in range(36)], cores), SIRACUSA, cores)


X, CHANNEL = TensorType("float32", (1, 5, 4, 8)), TensorType("float32", (8,))


class Net:
    """Two tensors and channels' numbers."""

    def __init__(self, axis: int = 3) -> None:
        self.builder, self.axis = Builder("net"), axis
        for name in ("x", "z"):
            self.builder.input(name, X)
        for name in ("s", "b", "t", "c"):
            self.builder.constants[name] = np.linspace(-1, 1, 8, dtype=np.float32)
            self.builder.types[name] = CHANNEL

    def scaled(self, x: str, s: str = "s", b: str = "b") -> str:
        return self.builder(BatchNormalization(axis=self.axis), [x, s, b])[0]

    def added(self, *names: str) -> str:
        return self.builder(Add(), list(names))[0]

    def positive(self, x: str) -> str:
        return self.builder(Relu(), [x])[0]

    def graph(self, *outputs: str) -> Graph:
        for number, name in enumerate(outputs):
            self.builder.output(name, f"y{number}")
        return self.builder.build()


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in FUSE_SCALED_SUMS.run(graph).nodes]


def two_sums() -> Graph:
    net = Net()
    return net.graph(net.positive(net.added(net.scaled("x"), net.scaled("z", "t", "c"))))


def test_what_becomes_one() -> None:
    (node,) = FUSE_SCALED_SUMS.run(two_sums()).nodes
    assert node.op == ScaledSum(positive=True)
    assert node.inputs == ("x", "s", "b", "z", "t", "c")
    net = Net()
    (node,) = FUSE_SCALED_SUMS.run(net.graph(net.added("z", net.scaled("x")))).nodes
    assert node.op == ScaledSum()
    assert node.inputs == ("x", "s", "b", "z")
    net = Net()
    (node,) = FUSE_SCALED_SUMS.run(net.graph(net.positive(net.scaled("x")))).nodes
    assert node.op == ScaledSum(positive=True)
    assert node.inputs == ("x", "s", "b")


def test_what_stays() -> None:
    net = Net()
    assert kinds(net.graph(net.scaled("x"))) == ["BatchNormalization"]
    net = Net()
    assert kinds(net.graph(net.positive(net.added("x", "z")))) == ["Add", "Relu"]
    net = Net()
    scaled = net.scaled("x")
    assert kinds(net.graph(net.positive(scaled), scaled)) == ["BatchNormalization", "Relu"]
    net = Net()
    scaled = net.scaled("x")
    assert kinds(net.graph(net.added(scaled, scaled))) == ["BatchNormalization", "Add"]
    net = Net()
    total = net.added(net.scaled("x"), "z")
    assert kinds(net.graph(net.positive(total), total)) == ["ScaledSum", "Relu"]
    net = Net(axis=1)
    for name in ("s", "b"):
        net.builder.constants[name], net.builder.types[name] = np.ones(5, np.float32), TensorType("float32", (5,))
    assert kinds(net.graph(net.positive(net.scaled("x")))) == ["BatchNormalization", "Relu"]
