"""Subgraphs of control flow nodes as graphs of their own, and what they read from around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.ir.graph import Builder, Graph, rebuild
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ir.unused import drop_unused
from tilewright.ops._control_flow import Body
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass
class Frame:
    """What an import knows of a graph that it has begun and not ended."""

    builder: Builder
    current: dict[str, str]
    added: dict[tuple[str, bool], str]
    captured: dict[str, str]


@dataclass(frozen=True)
class OwnGraph:
    graph: Graph
    own: int
    """Its first inputs, which whoever runs it makes."""
    captured: Mapping[str, str]
    """Its other inputs -> the names that they have around it."""

    def kinds(self) -> tuple[TensorType, ...]:
        return tuple(self.graph.types[name] for name in self.graph.outputs)

    def shaped(self, position: int, shape: Shape) -> OwnGraph:
        """With an output in another shape of as many elements."""
        builder = rebuild(self.graph)
        for node in self.graph.nodes:
            builder.copy_node(node, self.graph)
        for at, (tensor, name) in enumerate(zip(self.graph.outputs, self.graph.output_names, strict=True)):
            made = builder.add(Reshape(shape), [tensor], name=f"{tensor}_shaped")[0] if at == position else tensor
            builder.output(made, name)
        return replace(self, graph=builder.build())

    def body(self, names: Sequence[str], types: Sequence[TensorType]) -> Body:
        """With inputs for all these tensors from around it, in this order, behind those of its own."""
        inner = {outer: tensor for tensor, outer in self.captured.items()}
        known, inputs = dict(self.graph.types), list(self.graph.inputs[: self.own])
        for name, kind in zip(names, types, strict=True):
            tensor = inner.get(name) or _fresh(name, known)
            known[tensor] = kind
            inputs.append(tensor)
        return Body(replace(self.graph, inputs=tuple(inputs), types=known))


def own_graph(graph: Graph, own: int, captured: Mapping[str, str]) -> OwnGraph:
    """Without what nothing in it reads."""
    graph = drop_unused(graph)
    read = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
    kept = tuple(name for at, name in enumerate(graph.inputs) if at < own or name in read)
    types = {name: kind for name, kind in graph.types.items() if name not in graph.inputs or name in kept}
    return OwnGraph(
        replace(graph, inputs=kept, types=types), own, {name: captured[name] for name in kept if name in captured}
    )


def captured_names(*graphs: OwnGraph) -> list[str]:
    """All that they read from around them."""
    return list(dict.fromkeys(name for one in graphs for name in one.captured.values()))


def copied(builder: Builder) -> Builder:
    """A builder that goes on where this one is now."""
    return replace(
        builder, inputs=list(builder.inputs), outputs=list(builder.outputs), output_names=list(builder.output_names),
        nodes=list(builder.nodes), types=dict(builder.types), constants=_dict(builder.constants),
        notes=list(builder.notes), kept_floats=list(builder.kept_floats), states=dict(builder.states),
        _taken=set(builder._taken),
    )  # fmt: skip


def _dict(constants: Mapping[str, Array]) -> dict[str, Array]:
    return dict(constants)


def _fresh(name: str, taken: Mapping[str, TensorType]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
