"""Attention that one operator computes, as a standard file."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from tilewright.errors import CompileError
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType
from tilewright.ops.fusedattention import FusedAttention


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_attention_is_written_out(causal: bool, groups: int) -> None:
    builder, random = Builder("attention"), np.random.default_rng(3)
    shapes = {"q": (1, 5, 4, 6), "k": (1, 5, groups, 6), "v": (1, 5, groups, 3)}
    names = [builder.input(name, TensorType("float32", shape)) for name, shape in shapes.items()]
    builder.output(builder(FusedAttention(causal=causal, scale=0.4), names, ["y"])[0])
    graph = builder.build()
    feeds = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    session = onnxruntime.InferenceSession(model_of(graph).SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds)[0], evaluate(graph, feeds)["y"], atol=1e-5)


def test_a_cache_of_unknown_length_is_refused() -> None:
    builder = Builder("attention")
    names = [builder.input(name, TensorType("float32", (1, 5, 2, 4))) for name in "qkv"]
    position = builder.input("position", TensorType("int32", (1,)))
    builder.output(builder(FusedAttention(causal=True), [*names, position], ["y"])[0])
    with pytest.raises(CompileError, match="cache of variable length cannot be exported"):
        model_of(builder.build())
