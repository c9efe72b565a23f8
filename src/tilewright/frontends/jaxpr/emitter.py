"""Building an ONNX model from values that are tensors of it or known arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

OPSET = 20


@dataclass(frozen=True)
class Tensor:
    """A tensor of the model. It may have size 1 where JAX has broadcast it: `Emitter.full` makes up for that."""

    name: str
    shape: Shape
    dtype: np.dtype[Any]


Value: TypeAlias = "Tensor | Array"
"""A tensor of the model, or an array that is known now."""


@dataclass(frozen=True)
class Made:
    """What a tensor is the result of."""

    kind: str
    operands: tuple[Value | None, ...]


@dataclass
class Emitter:
    """The model so far, and the name that new nodes begin with."""

    scope: str = ""
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    initialisers: list[TensorProto] = field(default_factory=list)
    stored: dict[int, str] = field(default_factory=dict)
    """Names of the constants that arrays have become, by the arrays' identities."""
    names: dict[int, str] = field(default_factory=dict)
    """What weights are called in the user's module, by the identity of their arrays."""
    kept: list[Array] = field(default_factory=list)
    """Arrays whose identities must stay theirs."""
    taken: set[str] = field(default_factory=set)
    made: dict[str, Made] = field(default_factory=dict)
    """By the name of the first result."""

    # ---- nodes --------------------------------------------------------------------------------------------------

    def op(
        self, kind: str, *operands: Value | None, shape: Shape, dtype: Any = None, domain: str = "", **attributes: Any
    ) -> Tensor:
        """One node with one result, which has the type of the first operand unless another is given."""
        first = next(value for value in operands if value is not None)
        (made,) = self.many(kind, *operands, results=[(shape, dtype or first.dtype)], domain=domain, **attributes)
        return made

    def many(
        self, kind: str, *operands: Value | None, results: Sequence[tuple[Shape, Any]], domain: str = "",
        **attributes: Any,
    ) -> list[Tensor]:  # fmt: skip
        names = ["" if value is None else self.name_of(value) for value in operands]
        scope = next((found for found in map(self._owner, operands) if found), self.scope)
        name = self.free(f"{scope}/{kind}" if scope else kind)
        made = [
            Tensor(name if i == 0 else self.free(f"{name}_{i}"), tuple(map(int, shape)), np.dtype(dtype))
            for i, (shape, dtype) in enumerate(results)
        ]
        outputs = [tensor.name for tensor in made]
        self.nodes.append(helper.make_node(kind, names, outputs, name=name, domain=domain, **attributes))
        self.made[name] = Made(kind, operands)
        return made

    def elementwise(self, kind: str, *operands: Value, dtype: Any = None, **attributes: Any) -> Value:
        """A node that broadcasts its operands; they keep their sizes of 1 as long as possible."""
        shape = np.broadcast_shapes(*(value.shape for value in operands))
        return self.op(kind, *operands, shape=shape, dtype=dtype, **attributes)

    def _owner(self, value: Value | None) -> str:
        """The part of the user's module that a weight belongs to."""
        name = self.names.get(id(value), "") if isinstance(value, np.ndarray) else ""
        return name.rpartition(".")[0]

    def free(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        return name

    # ---- values -------------------------------------------------------------------------------------------------

    def name_of(self, value: Value) -> str:
        """The name of a tensor; an array becomes a constant of the model."""
        if isinstance(value, Tensor):
            return value.name
        if id(value) not in self.stored:
            wanted = self.names.get(id(value)) or (f"{self.scope}/constant" if self.scope else "constant")
            name = self.stored[id(value)] = self.free(wanted)
            self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
            self.kept.append(value)
        return self.stored[id(value)]

    def call(self, value: Array, name: str) -> None:
        """Give an array a name that its constant, and nodes that read it, will have."""
        self.names[id(value)] = name
        self.kept.append(value)

    def full(self, value: Value, shape: Shape) -> Value:
        """The value in its whole shape."""
        if value.shape == tuple(shape):
            return value
        if isinstance(value, np.ndarray):
            return np.broadcast_to(value, shape)
        return self.op("Expand", value, np.asarray(shape, np.int64), shape=shape)

    def reshape(self, value: Value, shape: Shape) -> Value:
        if value.shape == tuple(shape):
            return value
        if isinstance(value, np.ndarray):
            return self._derived(value, value.reshape(shape))
        return self.op("Reshape", value, np.asarray(shape, np.int64), shape=shape)

    def transpose(self, value: Value, axes: Sequence[int]) -> Value:
        if list(axes) == list(range(len(value.shape))):
            return value
        if isinstance(value, np.ndarray):
            return self._derived(value, value.transpose(axes))
        return self.op("Transpose", value, shape=tuple(value.shape[a] for a in axes), perm=list(axes))

    def _derived(self, value: Array, changed: Array) -> Array:
        """A weight in another shape keeps its name."""
        if id(value) in self.names:
            self.call(changed, self.names[id(value)])
        return changed

    def cast(self, value: Value, dtype: Any) -> Value:
        if value.dtype == dtype:
            return value
        if isinstance(value, np.ndarray):
            return value.astype(dtype)
        code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", value, shape=value.shape, dtype=dtype, to=code)

    def slice(
        self, value: Value, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
    ) -> Value:
        """`ends` of backward steps may be -1 - size: from the last element to the first."""
        sizes = list(value.shape)
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            sizes[axis] = len(range(value.shape[axis])[start:end:step])
        if isinstance(value, np.ndarray):
            cuts = dict(zip(axes, map(slice, starts, ends, steps), strict=True))
            return value[tuple(cuts.get(axis, slice(None)) for axis in range(value.ndim))]
        words = [np.asarray(list(part), np.int64) for part in (starts, ends, axes, steps)]
        return self.op("Slice", value, *words, shape=tuple(sizes))

    # ---- subgraphs ----------------------------------------------------------------------------------------------

    def subgraph(
        self, name: str, inputs: Sequence[tuple[Shape, Any]], body: Callable[[list[Tensor]], Sequence[Value]]
    ) -> GraphProto:
        """What `body` gives for inputs of these types, as the graph of a node; it may read all tensors around it."""
        given = [Tensor(self.free(f"{name}/given"), tuple(shape), np.dtype(dtype)) for shape, dtype in inputs]
        outer, self.nodes = self.nodes, []
        try:
            results = body(given)
            named = [self.free(f"{name}/result") for _ in results]
            for value, result in zip(results, named, strict=True):
                self.nodes.append(helper.make_node("Identity", [self.name_of(value)], [result], name=result))
            made = [_declared(result, value) for result, value in zip(named, results, strict=True)]
            return helper.make_graph(self.nodes, name, [_declared(one.name, one) for one in given], made)
        finally:
            self.nodes = outer

    # ---- the model ----------------------------------------------------------------------------------------------

    def input(self, name: str, shape: Shape, dtype: Any) -> Tensor:
        name = self.free(name)
        code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, code, shape))
        return Tensor(name, tuple(shape), np.dtype(dtype))

    def output(self, value: Value, name: str) -> None:
        """The value under that name: its node's own result would be called after the node."""
        made = helper.make_node("Identity", [self.name_of(value)], [name], name=self.free(f"{name}/Identity"))
        self.nodes.append(made)
        code = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
        self.outputs.append(helper.make_tensor_value_info(name, code, value.shape))

    def model(self, name: str) -> ModelProto:
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initialisers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def _declared(name: str, value: Value) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype)), value.shape)
