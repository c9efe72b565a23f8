"""Floats stored in 16 bits: kernels as C of this machine, and what `run` says of whole networks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import linear_cases, reductions
from tests.support.checks import Case, check_kernels
from tests.targets.generic.test_kernels_linear import collect
from tests.targets.gpu.test_kernels import elements
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.program import Program
from tilewright.target.settings import Settings

FORMS = ("Gelu", "Mod", "Where", "Clip", "Less", "Identity")
"""Element-wise operators whose kernels are made in different ways."""


def some_of_all() -> list[Case]:
    random = np.random.default_rng(11)
    kinds = ("Conv", "MatMul", "MaxPool", "AveragePool")
    products = [case for kind in kinds for case in collect(linear_cases.CASES[kind], 4)]
    rows = [reductions.MAKERS[kind](random) for kind in ("Softmax", "GroupNormalization", "ReduceMean", "ReduceL2")]
    return [*(case for case in elements("float32") if case[0].kind in FORMS), *products, *rows]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.one_in(2)
def test_kernels(precision: str) -> None:
    check_kernels(some_of_all(), target="gpu", settings=Settings(precision=precision))


def network(largest: float = 1.0) -> Graph:
    random = np.random.default_rng(3)
    builder = Builder("small")
    builder.input("x", TensorType("float32", (1, 8, 12, 12)))
    w = builder.constant(random.standard_normal((16, 8, 3, 3)).astype(np.float32) * largest, "w")
    b = builder.constant(random.standard_normal(16).astype(np.float32), "b")
    m = builder.constant(random.standard_normal((16, 5)).astype(np.float32) / 4, "m")
    builder.add(Conv(padding=(1, 1, 1, 1)), ["x", w, b], ["conv"])
    builder.add(Relu(), ["conv"], ["relu"])
    builder.add(GlobalAveragePool(), ["relu"], ["mean"])
    builder.add(Reshape((1, 16)), ["mean"], ["row"])
    builder.add(MatMul(), ["row", m], ["y"])
    builder.output("y")
    return builder.build()


@pytest.mark.fast
def test_weights_beyond_the_range() -> None:
    with pytest.raises(CompileError, match=r"(?s)constant 'w.*the largest float16 is 65504.*--precision bf16"):
        pipeline.stage(network(1e6), "gpu", "lowered", settings=Settings(precision="fp16"))
    assert pipeline.stage(network(1e6), "gpu", "lowered", settings=Settings(precision="bf16"))


@pytest.mark.fast
def test_other_targets_refuse() -> None:
    with pytest.raises(CompileError, match="--precision fp16: target generic computes floats in 32 bits"):
        pipeline.stage(network(), "generic", "lowered", settings=Settings(precision="fp16"))


@pytest.mark.fast
def test_the_processor_alone_stays_in_32_bits() -> None:
    settings = Settings(precision="fp16", engines=("cpu",))
    mapped = pipeline.stage(network(), "gpu", "mapped", settings=settings)
    assert {mapped.graph.types[node.key].dtype for node in mapped.graph.nodes} == {"float32"}


@pytest.mark.fast
def test_memory_is_half() -> None:
    whole, half = (
        pipeline.prediction(network(), "gpu", Settings(precision=one)).arena_bytes for one in ("fp32", "bf16")
    )
    assert half < 0.7 * whole


@pytest.mark.in_turns(8)
def test_a_network_agrees() -> None:
    settings = Settings(precision="fp16")
    compiled = pipeline.Compiled(*pipeline.stages(network(), "gpu", settings=settings))
    check = Program(compiled, "", None, 0.0, settings=settings).check(per_layer=True)
    assert check.agrees
    assert len(check.layers) > 5
    assert check.imported is not None
    assert 0.0 < check.imported.outputs[0].relative < 5e-3


@pytest.mark.in_turns(8)
def test_results_beyond_the_range_do_not_agree() -> None:
    settings = Settings(precision="fp16")
    compiled = pipeline.Compiled(*pipeline.stages(network(1e4), "gpu", settings=settings))
    check = Program(compiled, "", None, 0.0, settings=settings).check()
    assert not check.agrees
    assert check.first_difference is not None
    assert "not finite, but the model's are" in check.first_difference.remark
