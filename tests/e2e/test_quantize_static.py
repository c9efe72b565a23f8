"""Networks quantised by ONNX Runtime's own tool, in both of its formats: integers, and C that agrees with them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.passes.quantise.test_rules import agree, lowered
from tests.support.checks import check_graph
from tests.support.models import model, node
from tests.support.quantiser import Feeds, run_onnxruntime
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

tool = pytest.importorskip("onnxruntime.quantization")

RANDOM = np.random.default_rng(11)


def floats(*shape: int, scale: float = 0.4) -> Array:
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def mobile_network() -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w0 b0", "c0", pads=[1] * 4, strides=[2, 2]), node("Relu", "c0", "r0"),
        node("Conv", "r0 w1 b1", "c1", pads=[1] * 4, group=8), node("Clip", "c1 low high", "r1"),
        node("Conv", "r1 w2 b2", "c2"), node("Add", "c2 r0", "a"),
        node("MaxPool", "a", "p", kernel_shape=[2, 2], strides=[2, 2]), node("Sigmoid", "p", "s"),
        node("Mul", "p s", "m"),
        node("LeakyRelu", "m", "l", alpha=0.1), node("AveragePool", "m", "v", kernel_shape=[3, 3]),
        node("Slice", "l starts ends axes", "i"), node("Concat", "v i", "k", axis=1),
        node("GlobalAveragePool", "k", "g"), node("Flatten", "g", "f"),
        node("Gemm", "f w3 b3", "q", transB=1), node("Softmax", "q", "y", axis=-1),
    ]  # fmt: skip
    constants = {
        "w0": floats(8, 3, 3, 3), "b0": floats(8), "w1": floats(8, 1, 3, 3), "b1": floats(8), "w2": floats(8, 8, 1, 1),
        "b2": floats(8), "w3": floats(10, 16), "b3": floats(10), "low": np.float32(0), "high": np.float32(6),
        "starts": np.array([1, 1]), "ends": np.array([4, 4]), "axes": np.array([2, 3]),
    }  # fmt: skip
    return model(nodes, {"x": (1, 3, 20, 20)}, ["y"], constants)


def transformer_layer() -> onnx.ModelProto:
    heads = [
        part
        for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))
        for part in (
            node("MatMul", f"x w{name}", f"{name}0"), node("Add", f"{name}0 b{name}", f"{name}1"),
            node("Reshape", f"{name}1 heads", f"{name}2"), node("Transpose", f"{name}2", name, perm=order),
        )
    ]  # fmt: skip
    rest = [
        node("MatMul", "q k", "s"), node("Div", "s root", "d"), node("Softmax", "d", "p", axis=-1),
        node("MatMul", "p v", "o0"), node("Transpose", "o0", "o1", perm=[0, 2, 1, 3]), node("Reshape", "o1 flat", "o"),
        node("MatMul", "o wo", "m"), node("Add", "m x", "a"), node("LayerNormalization", "a g h", "n"),
        node("MatMul", "n w1", "e"), node("Relu", "e", "r"), node("MatMul", "r w2", "t"), node("Add", "t n", "y"),
    ]  # fmt: skip
    constants = {f"w{name}": floats(16, 16) for name in "qkvo"} | {f"b{name}": floats(16) for name in "qkv"}
    constants |= {"w1": floats(16, 32), "w2": floats(32, 16), "g": floats(16), "h": floats(16), "root": np.float32(2)}
    constants |= {"heads": np.array([1, 10, 4, 4]), "flat": np.array([1, 10, 16])}
    return model([*heads, *rest], {"x": (1, 10, 16)}, ["y"], constants)


class Samples(tool.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, feeds: Feeds) -> None:
        self.samples: Iterator[Feeds] = iter([feeds])

    def get_next(self) -> Feeds | None:
        return next(self.samples, None)


def quantised(network: onnx.ModelProto, feeds: Feeds, folder: Path, form: str, activation: str) -> onnx.ModelProto:
    network.ir_version = 9
    onnx.save(network, folder / "float.onnx")
    logging.getLogger().setLevel(logging.ERROR)
    tool.quantize_static(
        folder / "float.onnx", folder / "int.onnx", Samples(feeds), quant_format=tool.QuantFormat[form],
        activation_type=tool.QuantType[activation], weight_type=tool.QuantType.QInt8, per_channel=form == "QDQ",
    )  # fmt: skip
    return onnx.load(folder / "int.onnx")


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("activation", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("make", [mobile_network, transformer_layer])
def test_networks(make: Callable[[], onnx.ModelProto], form: str, activation: str, tmp_path: Path) -> None:
    network = make()
    shape = [dim.dim_value for dim in network.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": floats(*shape, scale=1.0)}
    exported = quantised(network, feeds, tmp_path, form, activation)
    graph = lowered(exported)
    found, wanted = evaluate(graph, feeds), run_onnxruntime(exported, feeds)
    integer = [name for name in wanted if name in found and found[name].dtype in (np.int8, np.uint8)]
    assert len(integer) > 15
    for name in integer:
        agree(name, found[name], wanted[name])
    assert graph.notes == ()
    if activation == "QUInt8":
        check_graph(graph, feeds)
