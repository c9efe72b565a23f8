"""Subgraphs of control flow nodes as plain nodes: inner names made unique, outer ones left as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import onnx

from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class Inlined:
    """One copy of a subgraph."""

    nodes: list[onnx.NodeProto]
    outputs: list[str]
    """The names that its outputs have outside."""
    unread: frozenset[str]
    """What its nodes give and nobody reads."""


@dataclass
class Body:
    """A subgraph of a node; copies of it share its constants."""

    graph: onnx.GraphProto
    where: str
    """The name of the node: inner names begin with it."""
    taken: set[str]
    """Names that are in use."""
    wanted: tuple[int, ...] | None = None
    """Positions of the outputs that somebody reads; all by default."""
    constants: dict[str, Array] = field(default_factory=dict)
    """By the names that they have outside."""

    @cached_property
    def nodes(self) -> list[onnx.NodeProto]:
        """Those that the wanted outputs need, but for constants."""
        outputs = [value.name for value in self.graph.output]
        live = onnx_file.live_nodes(self.graph, None if self.wanted is None else [outputs[i] for i in self.wanted])
        return [node for node in live if node.op_type != "Constant"]

    @cached_property
    def shared(self) -> dict[str, str]:
        """Constants of the subgraph: inner name -> outer name."""
        read = {name for node in self.nodes for name in onnx_file.reads(node)}
        read |= {value.name for value in self.graph.output}
        found = {tensor.name: onnx_file.weights(tensor) for tensor in self.graph.initializer if tensor.name in read}
        made = [node for node in self.graph.node if node.op_type == "Constant" and node.output[0] in read]
        found |= {node.output[0]: onnx_file.constant_value(node) for node in made}
        names = {name: self._unique(f"{self.where}/{name}") for name in found}
        self.constants |= {names[name]: array for name, array in found.items()}
        return names

    @property
    def inputs(self) -> list[str]:
        fixed = {tensor.name for tensor in self.graph.initializer}
        return [value.name for value in self.graph.input if value.name not in fixed]

    def inline(self, bindings: Mapping[str, str], turn: str = "") -> Inlined:
        """A copy whose inputs are the tensors that `bindings` names; `turn` tells copies apart."""
        prefix = f"{self.where}/{turn}" if turn else self.where
        made = [name for node in self.nodes for name in node.output if name]
        names = {**self.shared, **{name: self._unique(f"{prefix}/{name}") for name in made}, **bindings}
        outputs = [names.get(value.name, value.name) for value in self.graph.output]
        nodes = [_renamed(node, names, prefix) for node in self.nodes]
        read = {name for node in self.nodes for name in onnx_file.reads(node)}
        read |= {value.name for value in self.graph.output}
        return Inlined(nodes, outputs, frozenset(names[name] for name in made if name not in read))

    def _unique(self, name: str) -> str:
        found, number = name, 1
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


def _renamed(node: onnx.NodeProto, names: Mapping[str, str], prefix: str) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    copied.name = f"{prefix}/{onnx_file.name_of(node)}"
    copied.input[:] = [names.get(name, name) for name in node.input]
    copied.output[:] = [names.get(name, name) for name in node.output]
    for graph in onnx_file.subgraphs(copied):
        rename_outer(graph, names)
    return copied


def rename_outer(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """What a nested subgraph reads from outside."""
    own = set(onnx_file.defined_names(graph))
    seen = {name: new for name, new in names.items() if name not in own}
    for node in graph.node:
        node.input[:] = [seen.get(name, name) for name in node.input]
        for nested in onnx_file.subgraphs(node):
            rename_outer(nested, seen)
    for value in graph.output:
        value.name = seen.get(value.name, value.name)


def all_nodes(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """The nodes in a node's subgraphs, at any depth."""
    for graph in onnx_file.subgraphs(node):
        for inner in graph.node:
            yield inner
            yield from all_nodes(inner)


def all_names(graph: onnx.GraphProto) -> set[str]:
    """Every name of a tensor in a graph, without its subgraphs."""
    read: set[str] = {name for node in graph.node for name in onnx_file.reads(node)}
    return read | set(onnx_file.defined_names(graph)) | {value.name for value in graph.output}


def wanted_positions(node: onnx.NodeProto, unread: Sequence[str] | frozenset[str]) -> tuple[int, ...]:
    """The outputs of a node that somebody reads."""
    return tuple(i for i, name in enumerate(node.output) if name and name not in unread)
