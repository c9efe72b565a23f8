"""A graph with lengths, for other sizes: the same nodes and constants, other shapes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.length import Length, Sizes, Symbol, lengths_in, resolved
from tilewright.ir.types import Array, Shape, TensorType


def symbols_of(graph: Graph) -> tuple[Symbol, ...]:
    """The dimensions that a caller says, in the order of inputs."""
    kinds = [graph.types[name].shape for name in (*graph.inputs, *graph.constants)]
    found = (symbol for shape in kinds for one in lengths_in(shape) for symbol in sorted(one.form.symbols))
    return tuple(dict.fromkeys(found))


def is_sized(kind: TensorType) -> bool:
    """Whether a caller says how large it is."""
    return any(isinstance(size, Length) for size in kind.shape)


def at_sizes(graph: Graph, sizes: Sizes, constants: Mapping[str, Array] | None = None) -> Graph:
    """The graph with its symbols replaced by numbers, or by other lengths. Every type is inferred again, and is what
    the graph says that it is at these sizes. Constants are the beginnings of its own, or others that are given."""
    builder = Builder(
        graph.name, notes=list(graph.notes), kept_floats=list(graph.kept_floats),
        numerics_records=graph.numerics_records, scales=graph.scales,
    )  # fmt: skip
    for name in graph.inputs:
        builder.input(name, resolved(graph.types[name], sizes))
    for state in graph.states:
        builder.state(state.name, state.initial, state.before, state.is_shared)
    for name, own in graph.constants.items():
        array = own if constants is None else constants[name]
        kind = resolved(graph.types[name], sizes)
        builder.types[name] = kind
        builder.constants[name] = array if kind == graph.types[name] else first_elements(name, array, kind.shape)
    builder.reserve(graph.types)
    for node in graph.nodes:
        try:
            builder.add(resolved(node.op, sizes), node.inputs, node.outputs, node.name)
        except CompileError as error:
            raise does_not_follow(node.where, sizes, str(error.what)) from None
        for tensor in filter(None, node.outputs):
            expected, found = resolved(graph.types[tensor], sizes), builder.types[tensor]
            if expected != found:
                raise does_not_follow(node.where, sizes, f"its result is {found}, not {expected}")
    builder.copy_outputs(graph)
    return builder.build()


def sizes_of(types: Mapping[str, TensorType], arrays: Mapping[str, Array]) -> dict[str, int]:
    """The sizes of dimensions that inputs have, if each is in its range and all say the same."""
    found: dict[str, tuple[int, str]] = {}
    for name, kind in types.items():
        array = arrays[name]
        if array.ndim != len(kind.shape):
            shown = "x".join(map(str, array.shape)) or "a scalar"
            raise CompileError(f"input '{name}'", f"is {shown}, the model needs {kind}", "reshape the array")
        for axis, size in enumerate(kind.shape):
            if isinstance(size, Length):
                symbol = next(iter(size.form.symbols))
                _note(found, symbol, int(array.shape[axis]), f"input '{name}'")
    return {name: size for name, (size, _) in found.items()}


def check_size(symbol: Symbol, size: int | None, where: str) -> None:
    """An error where a size is missing or out of its range."""
    if size is None:
        hint = f"give a size: {symbol.name}={symbol.high}"
        raise CompileError(where, f"dimension '{symbol.name}' has no size", hint)
    if not symbol.low <= size <= symbol.high:
        hint = f"compile for more sizes: --dim {symbol.name}={min(size, symbol.low)}..{max(size, symbol.high)}"
        raise CompileError(where, f"dimension '{symbol.name}' is {size}, which is not {symbol.range}", hint)


def _note(found: dict[str, tuple[int, str]], symbol: Symbol, size: int, where: str) -> None:
    check_size(symbol, size, where)
    known, by = found.setdefault(symbol.name, (size, where))
    if known != size:
        what = f"dimension '{symbol.name}' is {size}, but {known} in {by}"
        raise CompileError(where, what, "give arrays that agree in it")


def does_not_follow(where: str, sizes: Sizes, why: str) -> CompileError:
    """The error for what cannot be computed with any size of a dimension."""
    hint = " ".join(f"--dim {name}={int(size)}" for name, size in sizes.items())
    what = f"does not follow the sizes of its dimensions: with {said(sizes)} {why}"
    return CompileError(where, what, f"fix them: {hint}")


def said(sizes: Sizes) -> str:
    """For people."""
    return ", ".join(f"{name}={int(size)}" for name, size in sizes.items())


def first_elements(name: str, array: Array, shape: Shape) -> Array:
    """A constant whose axes are shorter, or one that counts and goes on counting."""
    if all(size <= known for size, known in zip(shape, array.shape, strict=True)):
        return np.ascontiguousarray(array[tuple(slice(int(size)) for size in shape)])
    if array.ndim == 1 and array.size > 1 and array.dtype.kind in "iu" and len(set(np.diff(array).tolist())) == 1:
        return (array[0] + (array[1] - array[0]) * np.arange(int(shape[0]))).astype(array.dtype)
    raise Refusal(f"constant '{name}' has shape {list(array.shape)}, and {list(map(int, shape))} is asked for").at(
        f"constant '{name}'"
    )
