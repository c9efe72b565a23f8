"""What follows a product is its end on the GPU, and attention is one layer: as C of this machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.support.attention_cases import fusedattention
from tests.support.checks import Case, check_graph, check_kernels
from tests.targets.gpu.test_tiles import float_cases, floats, integer_cases, integers
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, type_of
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.gelu import Gelu
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape

Fed = tuple[Graph, dict[str, Array]]


class Network:
    """A graph with what is fed to it."""

    def __init__(self) -> None:
        self.builder, self.feeds = Builder("fused"), dict[str, Array]()

    def given(self, array: Array | None) -> str:
        if array is None:
            return ""
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.builder.input(name, type_of(array))

    def add(self, op: Op, *inputs: str) -> str:
        return self.builder.add(op, inputs)[0]

    def product(self, case: Case) -> str:
        return self.add(case[0], *map(self.given, case[1]))

    def like(self, tensor: str) -> str:
        kind = self.builder.type_of(tensor)
        made = floats(*kind.shape) if kind.dtype == "float32" else integers(*kind.shape, dtype=kind.dtype)
        return self.given(made)

    def build(self) -> Fed:
        return self.builder.build(), self.feeds


def float_sums() -> Fed:
    """Either operand is the product; with and without activations before and after."""
    net = Network()
    for number, case in enumerate(float_cases()):
        product = net.product(case)
        other = net.like(product)
        total = net.add(Add(), *((product, other) if number % 2 else (other, product)))
        net.builder.output(total if number % 3 else net.add(Relu() if number else Clip(low=-0.5, high=0.5), total))
    return net.build()


def byte_sums() -> Fed:
    net = Network()
    wide = Requant(6, "int8", -128, 127, zero_point=2)
    for case in integer_cases():
        if getattr(case[0], "requant", None) is not None:
            for op in (QLinearAdd(37, -21, 555, wide), QLinearAdd(90, 64, -9, replace(wide, rounding="half_even"))):
                product = net.product(case)
                net.builder.output(net.add(op, product, net.like(product)))
    return net.build()


def kinds(graph: Graph) -> Counter[str]:
    return Counter(layer.node.op.kind for layer in pipeline.prediction(graph, "gpu").layers if layer.engine == "gpu")


def test_sums_of_floats() -> None:
    graph, feeds = float_sums()
    found = kinds(graph)
    assert found["SummedConv"] + found["SummedMatMul"] == len(float_cases())
    assert found["Relu"] == found["Clip"] == 0
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_sums_of_bytes() -> None:
    graph, feeds = byte_sums()
    found = kinds(graph)
    assert (found["SummedConv"], found["SummedMatMul"]) == (2, 2)
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.fast
def test_sums_in_another_shape() -> None:
    """As exporters write projections of several tokens."""
    net = Network()
    product = net.product((MatMul(trans_b=True, activation=Gelu()), [floats(6, 16), floats(8, 16), floats(8)]))
    shaped = net.add(Reshape((1, 6, 8)), product)
    net.builder.output(net.add(Add(), shaped, net.like(shaped)))
    graph, _ = net.build()
    assert kinds(graph)["SummedMatMul"] == 1


@pytest.mark.fast
def test_what_others_read_stays_a_layer() -> None:
    """A product that is read twice, a sum that broadcasts, and a sum of two inputs."""
    net = Network()
    read = net.product((MatMul(trans_b=True), [floats(6, 16), floats(8, 16)]))
    wide = net.product((MatMul(trans_b=True), [floats(6, 16), floats(8, 16)]))
    for tensor in (net.add(Add(), read, net.like(read)), read, net.add(Add(), wide, net.given(floats(3, 1, 8)))):
        net.builder.output(tensor)
    net.builder.output(net.add(Add(), net.like(read), net.like(read)))
    found = kinds(net.build()[0])
    assert (found["Add"], found["SummedMatMul"]) == (3, 0)


def attentions() -> list[Case]:
    """Several heads and tokens, with shared keys, behind a cache's position, with odd and with many channels."""
    random = np.random.default_rng(3)
    position = np.array([200], np.int32)
    return [
        *(fusedattention(random) for _ in range(9)),
        (FusedAttention(scale=0.125), [floats(2, 35, 4, 64), floats(2, 130, 2, 64), floats(2, 130, 2, 64)]),
        (FusedAttention(True, 3, 0.1), [floats(1, 97, 2, 128), floats(1, 100, 2, 128), floats(1, 100, 2, 68)]),
        (FusedAttention(True, 0, 0.1), [floats(1, 1, 6, 80), floats(1, 300, 2, 80), floats(1, 300, 2, 80), position]),
    ]


def test_attention() -> None:
    check_kernels(attentions(), target="gpu")


@pytest.mark.fast
def test_wide_heads_stay_products() -> None:
    net = Network()
    net.builder.output(
        net.product((FusedAttention(), [floats(1, 2, 1, 160), floats(1, 3, 1, 160), floats(1, 3, 1, 8)]))
    )
    graph, _ = net.build()
    with pytest.raises(CompileError, match="heads have 160 channels, at most 128 fit"):
        kinds(graph)
