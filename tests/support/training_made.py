"""A training in files as ONNX Runtime's tools write it, made from a seed: two products with a ReLU between, their
gradients, an optimizer, and what four steps give in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

from tilewright.ir.types import Array

SHAPES = {"inner": (5, 6), "outer": (3, 5)}
RATE, STEPS, ACCUMULATED = 0.5, 4, 2
OWN = "com.microsoft"


def write(folder: Path, name: str) -> None:
    """`NAME_train/` with a network, inputs and outputs, and `NAME_optimizer/` with a network."""
    draw = np.random.default_rng(7)
    weights = {weight: draw.normal(0, 0.5, shape).astype(np.float32) for weight, shape in SHAPES.items()}
    x = draw.normal(0, 1, (STEPS, 1, SHAPES["inner"][1])).astype(np.float32)
    labels = draw.integers(0, SHAPES["outer"][0], (STEPS, 1))
    train, optimizer = folder / f"{name}_train", folder / f"{name}_optimizer"
    train.mkdir()
    optimizer.mkdir()
    onnx.save(_steps(), train / "network.onnx")
    onnx.save(_optimizer(), optimizer / "network.onnx")
    losses, learnt = _by_hand(x, labels, weights)
    np.savez(train / "inputs.npz", **_data(x, labels, weights))
    np.savez(train / "outputs.npz", loss=losses, **learnt)


def _steps() -> ModelProto:
    nodes = [
        helper.make_node("Gemm", ["x", "inner"], ["wide"], "first", transB=1),
        helper.make_node("Relu", ["wide"], ["bent"], "relu"),
        helper.make_node("Gemm", ["bent", "outer"], ["scores"], "second", transB=1),
        helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss", "logs"], "loss"),
        helper.make_node("SoftmaxCrossEntropyLossGrad", ["one", "logs", "labels"], ["back"], "back", domain=OWN),
        helper.make_node("Gemm", ["back", "bent"], ["outer_grad"], "of outer", transA=1),
        helper.make_node("Gemm", ["back", "outer"], ["bent_grad"], "through outer"),
        helper.make_node("ReluGrad", ["bent_grad", "bent"], ["wide_grad"], "through relu", domain=OWN),
        helper.make_node("Gemm", ["wide_grad", "x"], ["inner_grad"], "of inner", transA=1),
    ]
    sums = {f"{weight}_grad.accumulation.out": shape for weight, shape in SHAPES.items()}
    for weight in SHAPES:
        given = [_buffer(weight), f"{weight}_grad", "lazy_reset_grad"]
        made = [f"{weight}_grad.accumulation.out"]
        nodes.append(helper.make_node("InPlaceAccumulatorV2", given, made, f"sum of {weight}", domain=OWN))
    inputs = [_value("x", [1, SHAPES["inner"][1]]), _value("labels", [1], TensorProto.INT64)]
    inputs += [_value(*one) for one in SHAPES.items()]
    inputs += [_value(_buffer(weight), shape) for weight, shape in SHAPES.items()]
    inputs.append(_value("lazy_reset_grad", [1], TensorProto.BOOL))
    return _model(nodes, inputs, {"loss": (), **sums}, {"one": 1.0})


def _optimizer() -> ModelProto:
    nodes = [
        helper.make_node("SGD", [weight, _buffer(weight)], [f"{weight}_updated"], weight, lr=RATE) for weight in SHAPES
    ]
    inputs = [_value(name, shape) for weight, shape in SHAPES.items() for name in (weight, _buffer(weight))]
    return _model(nodes, inputs, {f"{weight}_updated": shape for weight, shape in SHAPES.items()}, {})


def _buffer(weight: str) -> str:
    return f"{weight}_grad.accumulation.buffer"


def _value(name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: Mapping[str, Sequence[int]],
    constants: Mapping[str, float],
) -> ModelProto:
    fixed = [helper.make_tensor(name, TensorProto.FLOAT, [], [value]) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "made", inputs, [_value(*one) for one in outputs.items()], fixed)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid(OWN, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def _data(x: Array, labels: Array, weights: Mapping[str, Array]) -> dict[str, Array]:
    """The first step's arrays in the order of the inputs, then those of the others."""
    first = [x[0], labels[0], *weights.values(), np.array([True])]
    arrays = {f"arr_{at:04}": array for at, array in enumerate(first)}
    for step in range(1, STEPS):
        arrays |= {f"mb{step}_arr_0000": x[step], f"mb{step}_arr_0001": labels[step]}
    return arrays | {"meta_n_batches": np.array([STEPS]), "meta_n_accum": np.array([ACCUMULATED])}


def _by_hand(x: Array, labels: Array, weights: Mapping[str, Array]) -> tuple[Array, dict[str, Array]]:
    """Losses and weights, by formulas in double precision."""
    inner, outer = (weights[name].astype(np.float64) for name in SHAPES)
    losses, sums = [], [np.zeros_like(inner), np.zeros_like(outer)]
    for step, (row, (label,)) in enumerate(zip(x.astype(np.float64), labels, strict=True)):
        bent = np.maximum(row @ inner.T, 0)
        scores = bent @ outer.T
        back = np.exp(scores) / np.exp(scores).sum()
        losses.append(-np.log(back[0, label]))
        back[0, label] -= 1
        sums = [sums[0] + ((back @ outer) * (bent > 0)).T @ row, sums[1] + back.T @ bent]
        if step % ACCUMULATED == ACCUMULATED - 1:
            inner, outer = inner - RATE * sums[0], outer - RATE * sums[1]
            sums = [np.zeros_like(inner), np.zeros_like(outer)]
    learnt = {name: one.astype(np.float32) for name, one in zip(SHAPES, (inner, outer), strict=True)}
    return np.array(losses, np.float32), learnt
