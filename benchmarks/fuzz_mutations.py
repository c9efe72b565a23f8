"""Ways to damage a model: its bytes, or its protobuf in ways that still parse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper

NUMBERS = (0, 1, -1, 2, 3, 5, 7, 16, 255, 2**15, 2**31 - 1, 2**31, 2**40, -(2**31), 2**63 - 1, -(2**63), 10**9)
NAMES = (
    "", "x", "a b", '"; system("true"); "', "*/ int main(void) { return 1; } /*", "../../etc/passwd", "line\nbreak",
    "\x1b[31m",
    "int", "main", "arena", "%s%n", "é", "\\", "??/", "a" * 300, "__attribute__", "#define x", "0",
)  # fmt: skip
KINDS = (
    "Add", "Relu", "Conv", "MatMul", "Reshape", "Loop", "If", "Nonsense", "Softmax", "Concat", "Split",
    "RequantShift", "Gather",
    "QuantizeLinear", "DequantizeLinear", "Pad", "Resize", "Slice", "Expand", "Constant", "Cast", "Where",
    "AveragePool",
    "ConvTranspose", "LayerNormalization", "Transpose", "Gemm", "MaxPool", "TopK", "Range", "ConstantOfShape",
    "iLayerNorm",
)  # fmt: skip

Mutation = Callable[[ModelProto, Random], None]


def mutate(data: bytes, rng: Random) -> bytes:
    """One damaged model: a quarter by bytes, the others by one to three changes of the protobuf."""
    if rng.random() < 0.25:
        return rng.choice((flip_bytes, truncate, overwrite))(data, rng)
    model = ModelProto()
    model.ParseFromString(data)
    for _ in range(rng.randint(1, 3)):
        rng.choice(MUTATIONS)(model, rng)
    return model.SerializeToString()


def flip_bytes(data: bytes, rng: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data))]


def overwrite(data: bytes, rng: Random) -> bytes:
    start, length = rng.randrange(len(data)), rng.randint(1, 16)
    return data[:start] + rng.randbytes(length) + data[start + length :]


def change_attribute(model: ModelProto, rng: Random) -> None:
    attributes = [item for node in model.graph.node for item in node.attribute]
    if not attributes:
        return
    item = rng.choice(attributes)
    if item.type == AttributeProto.INT:
        item.i = rng.choice(NUMBERS)
    elif item.type == AttributeProto.INTS and item.ints and rng.random() < 0.7:
        item.ints[rng.randrange(len(item.ints))] = rng.choice(NUMBERS)
    elif item.type == AttributeProto.INTS:
        item.ints.append(rng.choice(NUMBERS))
    elif item.type == AttributeProto.FLOAT:
        item.f = rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    elif item.type == AttributeProto.STRING:
        item.s = rng.choice(NAMES).encode()
    elif item.type == AttributeProto.TENSOR:
        damage_tensor(item.t, rng)


def change_attribute_type(model: ModelProto, rng: Random) -> None:
    attributes = [item for node in model.graph.node for item in node.attribute]
    if attributes:
        rng.choice(attributes).type = rng.randint(0, 14)


def add_attribute(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is None:
        return
    name = rng.choice(
        ("axis", "axes", "perm", "pads", "group", "to", "mode", "keepdims", "strides", "dilations", "nonsense")
    )
    value = AttributeProto(
        name=name, type=AttributeProto.INTS, ints=[rng.choice(NUMBERS) for _ in range(rng.randint(0, 4))]
    )
    if rng.random() < 0.5:
        value = AttributeProto(name=name, type=AttributeProto.INT, i=rng.choice(NUMBERS))
    node.attribute.append(value)


def drop_attribute(model: ModelProto, rng: Random) -> None:
    nodes = [node for node in model.graph.node if node.attribute]
    if nodes:
        node = rng.choice(nodes)
        del node.attribute[rng.randrange(len(node.attribute))]


def change_dimension(model: ModelProto, rng: Random) -> None:
    value = _any([*model.graph.input, *model.graph.output], rng)
    if value is None:
        return
    dims = value.type.tensor_type.shape.dim
    if dims and rng.random() < 0.8:
        dim = dims[rng.randrange(len(dims))]
        if rng.random() < 0.2:
            dim.dim_param = rng.choice(NAMES)
        else:
            dim.dim_value = rng.choice(NUMBERS)
    elif rng.random() < 0.5:
        dims.add().dim_value = rng.choice(NUMBERS)
    else:
        value.type.tensor_type.ClearField("shape")


def change_dtype(model: ModelProto, rng: Random) -> None:
    value = _any([*model.graph.input, *model.graph.value_info], rng)
    if value is not None:
        value.type.tensor_type.elem_type = rng.choice((*range(24), 77, -3))


def rename_tensor(model: ModelProto, rng: Random) -> None:
    """One name everywhere, so that the graph stays whole."""
    old, new = rng.choice(_tensors(model.graph)), rng.choice(NAMES)
    for node in model.graph.node:
        for names in (node.input, node.output):
            for position, name in enumerate(names):
                if name == old:
                    names[position] = new
    for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        if value.name == old:
            value.name = new


def rename_node(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is not None:
        node.name = rng.choice(NAMES)


def rename_graph(model: ModelProto, rng: Random) -> None:
    model.graph.name = rng.choice(NAMES)


def rewire(model: ModelProto, rng: Random) -> None:
    nodes = [node for node in model.graph.node if node.input]
    if nodes:
        node = rng.choice(nodes)
        node.input[rng.randrange(len(node.input))] = rng.choice([*_tensors(model.graph), "", "nothing"])


def change_arity(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is None:
        return
    names = node.input if rng.random() < 0.7 else node.output
    if names and rng.random() < 0.5:
        del names[-1]
    else:
        names.append(rng.choice([*_tensors(model.graph), "", "fresh"]))


def drop_node(model: ModelProto, rng: Random) -> None:
    if model.graph.node:
        del model.graph.node[rng.randrange(len(model.graph.node))]


def duplicate_node(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is not None:
        model.graph.node.add().CopyFrom(node)


def change_kind(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is not None:
        node.op_type = rng.choice(KINDS)


def change_domain(model: ModelProto, rng: Random) -> None:
    node = _any(model.graph.node, rng)
    if node is not None:
        node.domain = rng.choice(("ai.onnx.ml", "com.microsoft", "PACTOps", "nonsense", "ai.onnx"))


def change_opset(model: ModelProto, rng: Random) -> None:
    if model.opset_import:
        model.opset_import[0].version = rng.choice((0, 1, 6, 7, 9, 11, 13, 18, 23, 99, -1))


def damage_initialiser(model: ModelProto, rng: Random) -> None:
    tensor = _any(model.graph.initializer, rng)
    if tensor is not None:
        damage_tensor(tensor, rng)


def damage_tensor(tensor: TensorProto, rng: Random) -> None:
    choice = rng.randrange(5)
    if choice == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(NUMBERS)
    elif choice == 1:
        tensor.data_type = rng.choice((*range(24), 99))
    elif choice == 2:
        tensor.raw_data = rng.randbytes(rng.randrange(64))
    elif choice == 3:
        _change_values(tensor, rng)
    else:
        tensor.dims.append(rng.choice(NUMBERS))


def drop_initialiser(model: ModelProto, rng: Random) -> None:
    if model.graph.initializer:
        del model.graph.initializer[rng.randrange(len(model.graph.initializer))]


def shadow_input(model: ModelProto, rng: Random) -> None:
    """A tensor that two things define."""
    tensor = _any(model.graph.initializer, rng)
    if tensor is not None:
        copied = model.graph.initializer.add()
        copied.CopyFrom(tensor)
        copied.name = rng.choice(_tensors(model.graph))


def change_outputs(model: ModelProto, rng: Random) -> None:
    if model.graph.output and rng.random() < 0.5:
        del model.graph.output[-1]
    else:
        model.graph.output.add().name = rng.choice(_tensors(model.graph))


def _change_values(tensor: TensorProto, rng: Random) -> None:
    try:
        array = numpy_helper.to_array(tensor).copy()
    except Exception:
        return
    if not array.size or array.dtype.kind not in "iuf":
        return
    value = (
        rng.choice(NUMBERS)
        if array.dtype.kind != "f"
        else rng.choice((float("nan"), float("inf"), -1e38, 0.0, 2.0**40))
    )
    array.reshape(-1)[rng.randrange(array.size)] = np.asarray(value).astype(array.dtype)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _any(items: Sequence[Any], rng: Random) -> Any | None:
    return rng.choice(items) if len(items) else None


def _tensors(graph: GraphProto) -> list[str]:
    names = {name for node in graph.node for name in (*node.input, *node.output)}
    return sorted(names | {value.name for value in (*graph.input, *graph.initializer)}) or ["x"]


MUTATIONS: tuple[Mutation, ...] = (
    change_attribute, change_attribute, change_attribute_type, add_attribute, drop_attribute, change_dimension,
    change_dtype,
    rename_tensor, rename_node, rename_graph, rewire, rewire, change_arity, drop_node, duplicate_node, change_kind,
    change_kind, change_domain, change_opset, damage_initialiser, damage_initialiser, drop_initialiser, shadow_input,
    change_outputs,
)  # fmt: skip
