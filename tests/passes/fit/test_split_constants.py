"""Layers whose constants come in parts mean what they meant, and no part is larger than what was asked for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from tests.support.models import model, node
from tests.support.quantiser import quantise
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.ops.slice import Slice
from tilewright.passes import Pass, apply
from tilewright.passes.fit.split_constants import split_constants
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.pipeline import PASSES, QUANTISING, import_model

pytestmark = pytest.mark.fast


def _array(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(0, 0.5, shape).astype(np.float32)


def products() -> ModelProto:
    """Columns of a matrix and of its bias; then a matrix on the left, whose rows go along with nothing."""
    nodes = [node("Gemm", "x w b", "a", transB=1), node("MatMul", "v a", "y")]
    return model(nodes, {"x": (9, 31)}, ["y"], {"w": _array(70, 31), "b": _array(70), "v": _array(80, 9)})


def convolutions() -> ModelProto:
    nodes = [node("Conv", "x w b", "a", pads=[1, 0, 1, 2], strides=[2, 1]), node("Conv", "a k", "y", group=3)]
    constants = {"w": _array(51, 5, 3, 3), "b": _array(51), "k": _array(48, 17, 2, 2)}
    return model(nodes, {"x": (2, 5, 9, 8)}, ["y"], constants)


def tables() -> ModelProto:
    nodes = [node("Gather", "t i", "e"), node("Add", "e p", "y")]
    return model(nodes, {"i": (6,)}, ["y"], {"t": _array(40, 37), "p": _array(6, 37)}, dtype=TensorProto.INT64)


def quantised(made: ModelProto) -> ModelProto:
    return quantise(
        made, {v.name: _array(*(d.dim_value for d in v.type.tensor_type.shape.dim)) for v in made.graph.input}
    )


MODELS = {
    "products": products(), "convolutions": convolutions(), "tables": tables(),
    "quantised products": quantised(products()), "quantised convolutions": quantised(convolutions()),
}  # fmt: skip


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("passes", "name", "most"), list(product([(), (CHANNELS_LAST,)], MODELS, [400, 1000, 2500])))
def test_parts_give_what_the_whole_gives(name: str, passes: tuple[Pass, ...], most: int) -> None:
    graph = apply(import_model(MODELS[name]), (*QUANTISING, *PASSES, *passes))
    split = split_constants(graph, most)
    inputs = {name: _values(graph.types[name].dtype, graph.types[name].shape) for name in graph.inputs}
    before, after = evaluate(graph, inputs), evaluate(split, inputs)
    for old, new in zip(graph.outputs, split.outputs, strict=True):
        np.testing.assert_allclose(after[new], before[old], 1e-5, 1e-5 if "quantised" not in name else 0)


def _values(dtype: str, shape: tuple[int, ...]) -> Array:
    return np.arange(np.prod(shape)).reshape(shape) % 40 if dtype == "int64" else _array(*shape)


def test_no_part_is_larger_than_asked_for() -> None:
    graph = split_constants(apply(import_model(products()), PASSES), 1000)
    assert all(graph.types[name].bytes <= 1000 for name in graph.constants)
    assert [node.op.kind for node in graph.nodes].count("MatMul") > 8
    assert not any(isinstance(node.op, Slice) for node in graph.nodes), "an activation is copied"


def test_what_is_small_stays() -> None:
    graph = apply(import_model(products()), PASSES)
    assert split_constants(graph, 10_000) is graph
