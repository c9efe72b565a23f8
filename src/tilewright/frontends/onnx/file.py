"""Reading ONNX files: what is in the protobuf, checked and as plain data. Files are untrusted input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import CompileError, unreadable
from tilewright.frontends.model_files import no_file, no_graph
from tilewright.ir.element_types import element_type
from tilewright.ir.types import BYTES, Array, Shape

MAX_DIMENSION = 2**31 - 1

PLAIN = frozenset({
    onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT, onnx.AttributeProto.STRING, onnx.AttributeProto.INTS,
    onnx.AttributeProto.FLOATS, onnx.AttributeProto.STRINGS,
})  # fmt: skip
"""Attributes that are numbers, texts, or lists of them."""


def read(model: str | Path | bytes | onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """The model and a name for it."""
    if isinstance(model, onnx.ModelProto):
        proto, stem, where = model, model.graph.name or "network", "model"
    elif isinstance(model, bytes):
        proto, stem, where = _parse(model, "model"), "network", "model"
    else:
        path = Path(model)
        proto, stem, where = _read_file(path), path.stem, str(path)
    return _checked(proto, where), stem


def _read_file(path: Path) -> onnx.ModelProto:
    if path.is_dir():
        raise no_file(path)
    try:
        proto = _parse(path.read_bytes(), str(path))
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        onnx.load_external_data_for_model(proto, str(path.parent.resolve()))
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CompileError(
            str(path), f"external data cannot be read: {first}", "keep the data files beside the model, as exported"
        ) from None
    return proto


def _parse(data: bytes, where: str) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        what = f"is not an ONNX file, or is damaged ({len(data)} bytes)"
        hint = "give an .onnx, .tflite, .pt2 or .keras file; if it is one, export it again"
        damaged = CompileError(where, what, hint)
        raise no_graph(data, where) or damaged from None
    if not proto.graph.node and (other := no_graph(data, where)):
        raise other
    return proto


def _checked(proto: onnx.ModelProto, where: str) -> onnx.ModelProto:
    if not proto.graph.node and not proto.graph.output:
        raise CompileError(where, "holds no graph", "is it an ONNX model? export it again")
    if not proto.graph.output:
        raise CompileError(where, "the graph has no outputs", "name at least one output in the export")
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise CompileError(where, "holds names that are not text", "the file is damaged: export it again")
    if proto.functions:
        proto = _inline_functions(proto, where)
    return proto


def _texts(proto: onnx.ModelProto) -> Iterator[object]:
    """Every name in the model; a damaged one that is not UTF-8 comes out as bytes."""
    yield from (entry.domain for entry in proto.opset_import)
    yield from _graph_texts(proto.graph)


def _graph_texts(graph: onnx.GraphProto) -> Iterator[object]:
    yield graph.name
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (item.name for item in node.attribute)
        for inner in subgraphs(node):
            yield from _graph_texts(inner)
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        yield value.name
    for value in graph.input:
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)


def _inline_functions(proto: onnx.ModelProto, where: str) -> onnx.ModelProto:
    from onnx import inliner

    try:
        return inliner.inline_local_functions(proto)
    except Exception as error:
        raise CompileError(where, f"its functions cannot be inlined: {error}", "inline them before") from None


def opsets(proto: onnx.ModelProto) -> dict[str, int]:
    """Opset versions by domain. Some exporters state one that lacks operators they use: it is at least theirs."""
    stated = {entry.domain: entry.version for entry in proto.opset_import}
    kinds = sorted({node.op_type for node in proto.graph.node if node.domain in ("", "ai.onnx")})
    own = stated.get("", stated.get("ai.onnx", 1))
    return {**stated, "": max([own, *(_first_version(kind, own) for kind in kinds)])}


def _first_version(kind: str, stated: int) -> int:
    """The opset that first has an operator, from the stated one on; the stated one for what ONNX does not know."""
    newest = onnx.defs.onnx_opset_version()
    if not onnx.defs.has(kind, newest):
        return stated
    return next((version for version in range(max(stated, 1), newest) if onnx.defs.has(kind, version)), newest)


def true_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Graph inputs without those that have an initialiser."""
    fixed = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in fixed]


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Of control flow."""
    single = [item.g for item in node.attribute if item.type == onnx.AttributeProto.GRAPH]
    return single + [graph for item in node.attribute for graph in item.graphs]


def reads(node: onnx.NodeProto) -> list[str]:
    """What a node reads, by itself or in its subgraphs."""
    return [*node.input, *(name for graph in subgraphs(node) for name in _outer_names(graph))]


def _outer_names(graph: onnx.GraphProto) -> list[str]:
    """What a subgraph reads from outside."""
    own = set(defined_names(graph))
    read = [name for node in graph.node for name in reads(node)] + [value.name for value in graph.output]
    return [name for name in dict.fromkeys(read) if name and name not in own]


def defined_names(graph: onnx.GraphProto) -> list[str]:
    """The tensors that are a graph's own."""
    made = [name for node in graph.node for name in node.output]
    return made + [value.name for value in (*graph.input, *graph.initializer)]


def live_nodes(graph: onnx.GraphProto, wanted: Sequence[str] | None = None) -> list[onnx.NodeProto]:
    """The nodes that the wanted outputs need (all by default), each after the nodes it reads from."""
    producers: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        for name in filter(None, node.output):
            if name in producers:
                raise CompileError(
                    f"tensor '{name}'", "is produced by two nodes", "the graph is damaged: export it again"
                )
            producers[name] = node
    return _sorted(graph, producers, [value.name for value in graph.output] if wanted is None else list(wanted))


def _sorted(graph: onnx.GraphProto, producers: Mapping[str, onnx.NodeProto], stack: list[str]) -> list[onnx.NodeProto]:
    """Depth first from the outputs, without recursion: models may be thousands of nodes deep."""
    position = {id(node): i for i, node in enumerate(graph.node)}
    needed: set[int] = set()
    while stack:
        node = producers.get(stack.pop())
        if node is not None and position[id(node)] not in needed:
            needed.add(position[id(node)])
            stack.extend(reads(node))
    live = [node for i, node in enumerate(graph.node) if i in needed]
    return _topological(live, producers)


def _topological(live: list[onnx.NodeProto], producers: Mapping[str, onnx.NodeProto]) -> list[onnx.NodeProto]:
    done: set[int] = set()
    order: list[onnx.NodeProto] = []
    read = {id(node): reads(node) for node in live}
    waiting = live
    while waiting:
        later = []
        for node in waiting:
            if all(name not in producers or id(producers[name]) in done for name in read[id(node)]):
                done.add(id(node))
                order.append(node)
            else:
                later.append(node)
        if len(later) == len(waiting):
            names = ", ".join(f"'{node.name or node.output[0]}'" for node in later[:5])
            raise CompileError(
                "graph", f"{len(later)} nodes depend on each other in a cycle: {names}", "export it again"
            )
        waiting = later
    return order


def unread_outputs(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto]) -> frozenset[str]:
    """What the nodes give and neither a node nor the caller reads."""
    read = {name for node in nodes for name in reads(node)} | {value.name for value in graph.output}
    return frozenset(name for node in nodes for name in node.output) - read


def initialisers(
    graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], word: Callable[[str], int]
) -> dict[str, Array]:
    """The constants that the nodes or the outputs read; texts as the numbers that stand for them."""
    if graph.sparse_initializer:
        raise CompileError("graph", "sparse initialisers are not supported", "export dense weights")
    read = {name for node in nodes for name in reads(node)} | {value.name for value in graph.output}
    found = [tensor for tensor in graph.initializer if tensor.name in read]
    return {
        tensor.name: words(tensor, word) if tensor.data_type == TensorProto.STRING else weights(tensor)
        for tensor in found
    }


def words(tensor: TensorProto, word: Callable[[str], int]) -> Array:
    texts = [data.decode("utf-8", "replace") for data in tensor.string_data]
    if any(size < 0 for size in tensor.dims) or math.prod(tensor.dims) != len(texts):
        raise CompileError(
            f"constant '{tensor.name}'",
            f"{len(texts)} texts in a shape of {list(tensor.dims)}",
            "export the model again",
        )
    return np.asarray([word(text) for text in texts], np.int64).reshape(tuple(tensor.dims))


def weights(tensor: TensorProto) -> Array:
    where = f"constant '{tensor.name}'"
    array = to_array(tensor, where)
    # One NaN alone is what programs fill with where there is no result, as that of a median.
    if array.dtype.kind == "f" and array.size > 1 and (bad := int(np.isnan(array).sum())):
        raise CompileError(where, f"{bad} of {array.size} values are NaN", "the file is damaged, or training diverged")
    return array


SHORTER = ("int4", "uint4", "int2", "uint2", "float8", "float4")
"""How the names of elements begin that constants may have while they are folded, but no tensor of the graph."""


def to_array(tensor: TensorProto, where: str) -> Array:
    if not _numpy_name(tensor.data_type).startswith(SHORTER):
        dtype_of(tensor.data_type, where)
    if tensor.data_location == TensorProto.EXTERNAL:
        raise CompileError(where, "its data lies in another file", "give the path of the model instead of its bytes")
    if any(size < 0 for size in tensor.dims):
        raise CompileError(where, f"has a negative dimension: {list(tensor.dims)}", "export the model again")
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except Exception as error:
        raise CompileError(
            where, f"its data does not fit its shape {list(tensor.dims)}: {error}", "export again"
        ) from None


def _numpy_name(code: int) -> str:
    try:
        return np.dtype(helper.tensor_dtype_to_np_dtype(code)).name
    except Exception:
        return ""


def dtype_of(code: int, where: str) -> str:
    """The name of an ONNX element type that we support (strings and floats of 8 bits we do not)."""
    name = _numpy_name(code)
    if not name:
        raise CompileError(where, f"element type number {code} is unknown", f"supported: {', '.join(BYTES)}")
    if name not in BYTES:
        raise CompileError(
            where, f"element type {element_type(code)} is not supported", f"supported: {', '.join(BYTES)}"
        )
    return name


def declared_dtype(value: onnx.ValueInfoProto) -> str:
    """The element type that a value is declared with, or nothing where it has none that we know."""
    try:
        return dtype_of(value.type.tensor_type.elem_type, "")
    except CompileError:
        return ""


def declared_dtypes(graph: onnx.GraphProto) -> dict[str, str]:
    """Element types of inputs and intermediate tensors, where the file states them."""
    found = {}
    for value in (*graph.input, *graph.value_info):
        code = value.type.tensor_type.elem_type
        if code in TensorProto.DataType.values() and code != TensorProto.UNDEFINED:
            found[value.name] = TensorProto.DataType.Name(code).lower() if code != TensorProto.FLOAT else "float32"
    return found


def symbols(graph: onnx.GraphProto) -> list[str]:
    """The names of the inputs' symbolic dimensions."""
    shapes = [value.type.tensor_type.shape.dim for value in true_inputs(graph)]
    return sorted({dim.dim_param for dims in shapes for dim in dims if dim.dim_param})


def shape_of(value: onnx.ValueInfoProto, dims: Mapping[str, int]) -> Shape:
    where = f"input '{value.name}'"
    if not value.type.HasField("tensor_type"):
        raise CompileError(where, "is not a tensor (a sequence, map or optional)", "only tensors are supported")
    if not value.type.tensor_type.HasField("shape"):
        raise CompileError(where, "has no shape", f"give its shape, for example --shape {value.name}=1,3,224,224")
    _refuse_unbound(value.type.tensor_type.shape.dim, value.name, dims)
    return tuple(_size(dim, where, axis, dims) for axis, dim in enumerate(value.type.tensor_type.shape.dim))


def _refuse_unbound(axes: Sequence[Any], name: str, dims: Mapping[str, int]) -> None:
    """All axes without a size at once, so that one more command binds them."""
    # Exporters write a size that they do not know as a negative one, too.
    open_axes = {i: dim.dim_param for i, dim in enumerate(axes) if not dim.HasField("dim_value") or dim.dim_value < 0}
    unbound = {axis: symbol for axis, symbol in open_axes.items() if symbol not in dims}
    if not unbound:
        return
    found = [_open_axis(axis, axes[axis]) for axis in unbound]
    options = " ".join(f"--dim {symbol}=1" for symbol in dict.fromkeys(unbound.values()))
    shape = ",".join(str(dim.dim_value) if axis not in open_axes else "1" for axis, dim in enumerate(axes))
    raise CompileError(
        f"input '{name}'",
        f"{', '.join(found)}: no fixed size",
        f"give sizes: {options}" if all(unbound.values()) else f"give its shape: --shape {name}={shape}",
    )


def _open_axis(axis: int, dim: Any) -> str:
    if dim.dim_value < 0:
        return f"axis {axis} has size {dim.dim_value}"
    return f"axis {axis}" + (f" (symbol '{dim.dim_param}')" if dim.dim_param else "")


def static_shape(value: onnx.ValueInfoProto) -> Shape | None:
    """The declared shape, if there is one and every size is a number."""
    kind = value.type.tensor_type
    sizes = kind.shape.dim
    if not kind.HasField("shape") or any(dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0 for dim in sizes):
        return None
    return tuple(int(dim.dim_value) for dim in kind.shape.dim)


def _size(dim: Any, where: str, axis: int, dims: Mapping[str, int]) -> int:
    size = int(dim.dim_value) if dim.HasField("dim_value") else dims[dim.dim_param]
    if not 0 <= size <= MAX_DIMENSION:
        raise CompileError(where, f"axis {axis} has size {size}", f"sizes are 0 to {MAX_DIMENSION}")
    return size


def name_of(node: onnx.NodeProto) -> str:
    return node.name or (node.output[0] if node.output else node.op_type)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as plain Python values; tensors as arrays."""
    return {item.name: _attribute(item, node) for item in node.attribute}


def _attribute(item: onnx.AttributeProto, node: onnx.NodeProto) -> Any:
    where = f"node '{node.name or (node.output[0] if node.output else '')}' ({node.op_type})"
    if item.type == onnx.AttributeProto.TENSOR:
        return to_array(item.t, where)
    if item.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        raise CompileError(where, "control flow (a subgraph) is not supported", "export without If, Loop and Scan")
    if item.type not in PLAIN:
        raise CompileError(where, f"attribute '{item.name}' is of an unknown kind", "export the model again")
    value = helper.get_attribute_value(item)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float):
        return value
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]


def constant_value(node: onnx.NodeProto) -> Array:
    """The value of a Constant node."""
    where = f"node '{node.name or node.output[0]}' (Constant)"
    values = attributes(node)
    for name, dtype in (
        ("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32), ("value_floats", np.float32),
    ):  # fmt: skip
        if name in values:
            return np.asarray(values[name], dtype)
    if not isinstance(values.get("value"), np.ndarray):
        raise CompileError(where, "holds no numeric value", "strings and sparse tensors are not supported")
    return np.asarray(values["value"])
