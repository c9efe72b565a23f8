"""What the user fixes of a model's inputs before it is read: whole shapes, and inputs with one value for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tilewright.errors import CompileError
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.element_types import element_type
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Bound:
    """A model with its inputs fixed, and the symbolic dimensions that are still to be bound."""

    proto: onnx.ModelProto
    dims: Mapping[str, int] = field(default_factory=dict)


def bind(
    proto: onnx.ModelProto, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]], values: Mapping[str, Any]
) -> Bound:
    """The model with the shapes of some inputs, and with others as constants; the caller's model is left as it is."""
    if not shapes and not values:
        return Bound(proto, dims)
    _refuse_unknown(proto.graph, "--shape", shapes)
    _refuse_unknown(proto.graph, "--bind", values)
    bound = onnx.ModelProto()
    bound.CopyFrom(proto)
    known = onnx_file.symbols(bound.graph)
    sizes = _bind_shapes(bound.graph, shapes)
    _refuse_contradictions(sizes, dims)
    dims = {**{name: size for name, size in sizes.items() if _is_a_name(name)}, **dims}
    _bind_values(bound.graph, values, dims)
    left = onnx_file.symbols(bound.graph)
    return Bound(bound, {name: size for name, size in dims.items() if name in left or name not in known})


def _refuse_unknown(graph: onnx.GraphProto, option: str, given: Mapping[str, Any]) -> None:
    inputs = [value.name for value in onnx_file.true_inputs(graph)]
    for name in given:
        if name not in inputs:
            known = ", ".join(f"'{value}'" for value in inputs)
            raise CompileError(f"{option} {name}=...", f"the model has no input '{name}'", f"inputs: {known}")


# ---- shapes -----------------------------------------------------------------------------------------------------


def _bind_shapes(graph: onnx.GraphProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Write shapes into the inputs; the symbols that got one size, which other inputs then have too."""
    found: dict[str, set[int]] = {}
    for value in onnx_file.true_inputs(graph):
        if value.name in shapes:
            shape = _checked(value, shapes[value.name])
            for dim, size in zip(value.type.tensor_type.shape.dim, shape, strict=False):
                found.setdefault(dim.dim_param, set()).add(size)
            _set_shape(value, shape)
    return {name: sizes.pop() for name, sizes in found.items() if len(sizes) == 1}


def _checked(value: onnx.ValueInfoProto, given: Sequence[int]) -> Shape:
    """A shape that the file allows: of the same rank, and with the sizes that are fixed."""
    where = f"--shape {value.name}={','.join(map(str, given))}"
    shape = tuple(int(size) for size in given)
    if not value.type.HasField("tensor_type"):
        raise CompileError(where, "the input is not a tensor (a sequence, map or optional)", "leave the option out")
    if any(not 0 <= size <= onnx_file.MAX_DIMENSION for size in shape):
        raise CompileError(where, "has a size out of range", f"sizes are 0 to {onnx_file.MAX_DIMENSION}")
    if not value.type.tensor_type.HasField("shape"):
        return shape
    dims = value.type.tensor_type.shape.dim
    if len(dims) != len(shape):
        raise CompileError(
            where, f"{len(shape)} axes, the input has {len(dims)}", f"for example --shape {_example(value)}"
        )
    for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
        if dim.dim_value > 0 and dim.dim_value != size:
            raise CompileError(
                where, f"axis {axis} is fixed at {dim.dim_value} in the file, not {size}",
                "export the model with that size, or with a symbolic axis",
            )  # fmt: skip
    return shape


def _example(value: onnx.ValueInfoProto) -> str:
    sizes = (str(dim.dim_value) if dim.dim_value > 0 else "1" for dim in value.type.tensor_type.shape.dim)
    return f"{value.name}={','.join(sizes)}"


def _set_shape(value: onnx.ValueInfoProto, shape: Shape) -> None:
    value.type.tensor_type.ClearField("shape")
    value.type.tensor_type.shape.SetInParent()
    for size in shape:
        value.type.tensor_type.shape.dim.add().dim_value = size


def _refuse_contradictions(sizes: Mapping[str, int], dims: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        if dims.get(name, size) != size:
            raise CompileError(f"--dim {name}={dims[name]}", f"--shape makes it {size}", "leave one of both out")


def _is_a_name(symbol: str) -> bool:
    """`?` and `-1` are what exporters write who know no size: the same text is not the same size."""
    return symbol.isidentifier()


# ---- values -----------------------------------------------------------------------------------------------------


def _bind_values(graph: onnx.GraphProto, values: Mapping[str, Any], dims: Mapping[str, int]) -> None:
    """Inputs with a value become initialisers."""
    for value in onnx_file.true_inputs(graph):
        if value.name in values:
            array = _typed(value, _array(value.name, values[value.name]), dims)
            graph.initializer.append(numpy_helper.from_array(array, value.name))


def _array(name: str, given: Any) -> Array:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf":
        held = f"holds {array.dtype.name}, not numbers"
        raise CompileError(f"--bind {name}=...", held, "give numbers, or a .npy file")
    return array


def _typed(value: onnx.ValueInfoProto, array: Array, dims: Mapping[str, int]) -> Array:
    """The value in the input's element type and shape; a single number fills the whole shape."""
    where = f"--bind {value.name}=..."
    if not value.type.HasField("tensor_type"):
        raise CompileError(where, "the input is not a tensor (a sequence, map or optional)", "leave the option out")
    return _cast(_shaped(value, array, dims, where), value.type.tensor_type.elem_type, where)


def _shaped(value: onnx.ValueInfoProto, array: Array, dims: Mapping[str, int], where: str) -> Array:
    sizes = _sizes(value, dims)
    if sizes is None or _fits(array.shape, sizes):
        return array
    if None not in sizes:
        shape = tuple(size for size in sizes if size is not None)
        if array.size == 1:
            return np.broadcast_to(array.reshape(()), shape).copy()
        if array.ndim == 1 and array.size == int(np.prod(shape)):
            return array.reshape(shape)
    if array.size == 1 and len(sizes) == 1:
        return array.reshape(1)
    shown = "x".join("?" if size is None else str(size) for size in sizes) or "scalar"
    raise CompileError(
        where, f"{array.size} elements of shape {list(array.shape)}, the input is {shown}",
        "give one number, all elements with commas, or a .npy file; bind open axes with --shape or --dim",
    )  # fmt: skip


def _fits(shape: Shape, sizes: Sequence[int | None]) -> bool:
    return len(shape) == len(sizes) and all(want in (None, found) for want, found in zip(sizes, shape, strict=True))


def _sizes(value: onnx.ValueInfoProto, dims: Mapping[str, int]) -> list[int | None] | None:
    """The input's sizes as far as they are known; None without a shape."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return [
        int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else dims.get(dim.dim_param)
        for dim in value.type.tensor_type.shape.dim
    ]


def _cast(array: Array, code: int, where: str) -> Array:
    """In the declared element type, if that changes no value (floats are rounded)."""
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(code))
    except Exception:
        raise CompileError(
            where, f"the input is of element type {element_type(code)}", "only numbers can be bound"
        ) from None
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
    if dtype.kind in "biu" and not np.array_equal(cast.astype(np.float64), array.astype(np.float64)):
        raise CompileError(where, f"does not fit the input's element type {dtype.name}", "give a value of that type")
    return cast
