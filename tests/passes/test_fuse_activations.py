"""Activations of floats disappear into what computes them, where nothing else needs the values before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, integers, kinds
from tilewright import pipeline, targets
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.erf import Erf
from tilewright.ops.gelu import Gelu
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.passes import apply
from tilewright.passes.fit.split_sums import split_sums
from tilewright.passes.fuse_activations import fuse_activations

pytestmark = pytest.mark.fast

CURVES = (Sigmoid(), Swish(), Swish(1.702), Tanh(), Gelu(), Gelu("tanh"))
ACTIVATIONS = (Relu(), Clip(0.0, 6.0), Clip(None, 0.5), LeakyRelu(0.1), HardSigmoid(0.3, 0.4), HardSwish(), *CURVES)
FUSE = fuse_activations(lambda activation, op: True)


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def network(op: Op, x: Array, constants: list[Array], activation: Op) -> Graph:
    small = Small()
    source = small.input("x", *x.shape, dtype="float32")
    linear = small.add(op, source, *map(small.constant, constants))
    return small.graph(small.add(activation, linear))


CASES = {
    "conv": (Conv(padding=(1, 1, 1, 1)), floats(1, 8, 5, 5), [floats(4, 8, 3, 3), floats(4)]),
    "transposed conv": (ConvTranspose(spatial=(6, 6)), floats(1, 4, 4, 4), [floats(4, 3, 3, 3), floats(3)]),
    "matmul": (MatMul(), floats(3, 12), [floats(12, 7), floats(7)]),
}


def same_results(before: Graph, after: Graph, x: Array) -> None:
    for old, new in zip(before.outputs, after.outputs, strict=True):
        expected, found = evaluate(before, {"x": x})[old], evaluate(after, {"x": x})[new]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_fused(case: str, activation: Op) -> None:
    op, x, constants = CASES[case]
    graph = network(op, x, constants, activation)
    fused = apply(graph, (FUSE,))
    assert kinds(fused) == [op.kind]
    same_results(graph, fused, x)


@pytest.mark.parametrize("case", ["conv", "matmul"])
def test_sums_in_parts(case: str) -> None:
    """The activation comes after the last part."""
    op, x, constants = CASES[case]
    graph = network(op, x, constants, Relu())
    fused = apply(graph, (FUSE,))
    parts = split_sums(fused, {fused.nodes[0].key: 2})
    assert kinds(parts).count(op.kind) == 2
    same_results(graph, parts, x)


def test_other_functions_stay() -> None:
    op, x, constants = CASES["matmul"]
    assert kinds(apply(network(op, x, constants, Erf()), (FUSE,))) == ["MatMul", "Erf"]


@pytest.mark.asks_c
def test_a_kernel_is_compiled_with_its_curve() -> None:
    """And one whose results go through none of them with none: each costs code."""
    small = Small()
    hidden = small.add(MatMul(), small.input("x", 8, 4, dtype="float32"), small.constant(floats(4, 8)))
    product = small.add(MatMul(), small.add(Gelu(), hidden), small.constant(floats(8, 8)))
    files = pipeline.compile_graph(small.graph(small.add(Relu(), product)), "generic").files
    texts = {name.rsplit("/", 1)[-1]: text for name, text in files.items()}
    assert "#define TW_CURVE tw_curve_gelu\n" in texts["matmul_f32_gelu.c"]
    assert "TW_CURVE" not in texts["matmul_f32.c"]
    assert "gelu.c" not in texts


def test_another_reader() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("x", 3, 4, dtype="float32"), small.constant(floats(4, 5)))
    graph = small.graph(small.add(Relu(), product), product)
    assert kinds(apply(graph, (FUSE,))) == ["MatMul", "Relu"]


def test_integers() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("x", 3, 4), small.constant(integers("int8", 4, 5)))
    graph = small.graph(small.add(Relu(), product))
    assert kinds(apply(graph, (FUSE,))) == ["MatMul", "Relu"]


def test_only_the_first_activation() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("x", 3, 4, dtype="float32"), small.constant(floats(4, 5)))
    graph = small.graph(small.add(Clip(None, 0.5), small.add(LeakyRelu(0.1), product)))
    fused = apply(graph, (FUSE, FUSE))
    assert kinds(fused) == ["MatMul", "Clip"]
    same_results(graph, fused, floats(3, 4))


def test_a_target_whose_kernels_do_not_apply_them() -> None:
    op, x, constants = CASES["matmul"]
    graph = network(op, x, constants, Relu())
    assert kinds(apply(graph, (fuse_activations(lambda activation, op: False),))) == kinds(graph)


@pytest.mark.parametrize("name", targets.names())
def test_targets(name: str) -> None:
    """No target loses its fastest kernel for an activation."""
    target = targets.find(name)
    assert all(target.applies(Relu, op) for op in (Conv, ConvTranspose, MatMul))


def test_a_view_stands_between_a_product_and_its_activation() -> None:
    op, x, constants = CASES["matmul"]
    small = Small()
    source = small.input("x", *x.shape, dtype="float32")
    product = small.add(op, source, *map(small.constant, constants))
    graph = small.graph(small.add(Gelu(), small.add(Reshape((1, 3, 7)), product)))
    fused = apply(graph, (FUSE,))
    assert kinds(fused) == ["MatMul", "Reshape"]
    same_results(graph, fused, x)
