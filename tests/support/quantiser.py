"""Quantises small float models for tests, in the ways that exporters do, and asks ONNX Runtime for every result."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, NodeProto, helper, load_model, numpy_helper

from tilewright.ir.types import Array, limits

Feeds = Mapping[str, Array]
WEIGHTED = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
"""Operators with a quantised second operand, and the axis of its channels (of Gemm with transB: 0)."""
UNQUANTISED_INPUTS = {
    "Clip",
    "Reshape",
    "Pad",
    "Slice",
    "Resize",
    "Expand",
    "Unsqueeze",
    "Squeeze",
    "ReduceMean",
    "Gather",
}


@dataclass(frozen=True)
class Style:
    activation: str = "int8"
    weight: str = "int8"
    per_channel: bool = True
    symmetric_weights: bool = True
    int32_bias: bool = True
    skip: Collection[str] = ()
    """Tensors that are not quantised."""
    same: Mapping[str, str] | None = None
    """Tensors that have the scale of another."""


PLAIN = Style()


def run_onnxruntime(model: ModelProto, feeds: Feeds) -> dict[str, Array]:
    """Every tensor of a model, computed without optimisations."""
    probed = ModelProto()
    probed.CopyFrom(model)
    # ONNX Runtime refuses files that are newer than itself.
    probed.ir_version = min(model.ir_version, 9)
    del probed.graph.output[:]
    names = dict.fromkeys(name for node in model.graph.node for name in node.output if name)
    probed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = ort.InferenceSession(probed.SerializeToString(), _options(ort.GraphOptimizationLevel.ORT_DISABLE_ALL))
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def run_integer_kernels(model: ModelProto, feeds: Feeds) -> dict[str, Array]:
    """What tensors of bytes are with the kernels of integers that ONNX Runtime puts between quantisers. Asked for
    tensors in between it would not put any there, so that it is its optimised model that is asked."""
    unsigned, changed = _with_unsigned_bytes(model)
    options = _options(ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        ort.InferenceSession(unsigned.SerializeToString(), options)
        values = run_onnxruntime(load_model(options.optimized_model_filepath), feeds)
    return {
        name: (value.astype(np.int16) - 128).astype(np.int8) if name in changed else value
        for name, value in values.items()
    }


def _with_unsigned_bytes(model: ModelProto) -> tuple[ModelProto, set[str]]:
    """Signed bytes between quantisers as unsigned ones, 128 higher, under their names: ONNX Runtime would do the same
    under others, as its kernels take the first factor unsigned."""
    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    zeros = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}
    changed: set[str] = set()
    for node in made.graph.node:
        if node.op_type == "QuantizeLinear" and zeros[node.input[2]].dtype == np.int8:
            changed.add(node.output[0])
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and changed & {node.input[0], node.output[0]}:
            zero = (zeros[node.input[2]].astype(np.int16) + 128).astype(np.uint8)
            node.input[2] = f"{node.output[0]}_unsigned_zero"
            made.graph.initializer.append(numpy_helper.from_array(zero, node.input[2]))
    return made, changed


def _options(level: ort.GraphOptimizationLevel) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    # A thread of its own would take longer to start than such a model to run.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def quantise(model: ModelProto, feeds: Feeds, style: Style = PLAIN) -> ModelProto:
    """The model with QuantizeLinear and DequantizeLinear on every float tensor, in the range of a sample run."""
    return _Quantiser(model, feeds, style).run()


class _Quantiser:
    def __init__(self, model: ModelProto, feeds: Feeds, style: Style) -> None:
        self.model, self.style = model, style
        self.values = {**feeds, **run_onnxruntime(model, feeds)}
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.nodes: list[NodeProto] = []
        self.added: dict[str, Array] = {}
        self.renamed: dict[str, str] = {}
        self.scales: dict[str, Array] = {}

    def run(self) -> ModelProto:
        for value in self.model.graph.input:
            self._activation(value.name)
        for node in self.model.graph.node:
            copied = NodeProto()
            copied.CopyFrom(node)
            for position, name in enumerate(node.input):
                copied.input[position] = self._operand(node, position, name)
            self.nodes.append(copied)
            for name in node.output:
                self._activation(name)
        return self._built()

    def _built(self) -> ModelProto:
        result = ModelProto()
        result.CopyFrom(self.model)
        del result.graph.node[:], result.graph.initializer[:], result.graph.output[:]
        result.graph.node.extend(self.nodes)
        used = {name for node in self.nodes for name in node.input}
        arrays = {**self.constants, **self.added}
        result.graph.initializer.extend(numpy_helper.from_array(arrays[name], name) for name in arrays if name in used)
        outputs = [self.renamed.get(value.name, value.name) for value in self.model.graph.output]
        result.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
        return result

    def _activation(self, name: str) -> None:
        if name in self.style.skip or self.values[name].dtype != np.float32:
            return
        owner = (self.style.same or {}).get(name, name)
        if owner == name:
            low, high = min(float(self.values[name].min()), 0.0), max(float(self.values[name].max()), 0.0)
            self.added[f"{name}_s"], self.added[f"{name}_z"] = _asymmetric(low, high, self.style.activation)
        constants = [f"{owner}_s", f"{owner}_z"]
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *constants], [f"{name}_q"], f"{name}_q"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *constants], [f"{name}_d"], f"{name}_d"))
        self.renamed[name] = f"{name}_d"
        self.scales[name] = self.added[f"{owner}_s"]

    def _operand(self, node: NodeProto, position: int, name: str) -> str:
        if name not in self.constants:
            return self.renamed.get(name, name)
        if name in self.style.skip or node.op_type in UNQUANTISED_INPUTS or self.constants[name].dtype != np.float32:
            return name
        if node.op_type in WEIGHTED and position == 1:
            return self._weight(node, name)
        if node.op_type in WEIGHTED and position == 2:
            return self._bias(node, name)
        return name if self.constants[name].size == 1 else self._weight(node, name)

    def _weight(self, node: NodeProto, name: str) -> str:
        values = self.constants[name]
        axis = WEIGHTED.get(node.op_type)
        if node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute):
            axis = 0
        if axis is None or not self.style.per_channel:
            scale, zero = _weight_constants(values.reshape(1, -1), self.style)
            scale, zero, axis = scale.reshape(()), zero.reshape(()), 0
        else:
            scale, zero = _weight_constants(np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1), self.style)
        return self._dequantised(name, values, scale, zero, axis)

    def _bias(self, node: NodeProto, name: str) -> str:
        weight = f"{node.input[1]}_s"
        if not self.style.int32_bias or weight not in self.added or node.input[0] not in self.scales:
            return name
        scale = np.asarray(self.scales[node.input[0]] * self.added[weight], np.float32)
        return self._dequantised(name, self.constants[name], scale, np.zeros(scale.shape, np.int32), 0)

    def _dequantised(self, name: str, values: Array, scale: Array, zero: Array, axis: int) -> str:
        shape = [1] * values.ndim
        if scale.ndim:
            shape[axis] = -1
        levels = np.rint(values / scale.reshape(shape)) + zero.reshape(shape)
        self.added[f"{name}_q"] = np.clip(levels, *limits(zero.dtype.name)).astype(zero.dtype)
        self.added[f"{name}_s"], self.added[f"{name}_z"] = scale, zero
        if f"{name}_d" not in {node.output[0] for node in self.nodes}:
            inputs = [f"{name}_q", f"{name}_s", f"{name}_z"]
            self.nodes.append(helper.make_node("DequantizeLinear", inputs, [f"{name}_d"], f"{name}_d", axis=axis))
        return f"{name}_d"


def _asymmetric(low: float, high: float, dtype: str) -> tuple[Array, Array]:
    least, most = limits(dtype)
    scale = np.float32((high - low) / (most - least) or 1.0)
    return np.asarray(scale), np.asarray(np.clip(np.rint(least - low / scale), least, most), dtype)


def _weight_constants(rows: Array, style: Style) -> tuple[Array, Array]:
    low, high = limits(style.weight)
    if not style.symmetric_weights:
        pairs = [_asymmetric(min(float(row.min()), 0.0), max(float(row.max()), 0.0), style.weight) for row in rows]
        return np.array([scale for scale, _ in pairs], np.float32), np.array([zero for _, zero in pairs], style.weight)
    scale = np.asarray(np.abs(rows).max(1) / ((high - low) // 2), np.float32)
    middle = (high + low + 1) // 2
    return np.where(scale > 0, scale, np.float32(1)), np.full(scale.shape, middle, style.weight)
