"""Which engine and which kernel computes each node, with the reason for every refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.errors import CompileError, Refusal, raise_all
from tilewright.ir import Graph, Node
from tilewright.target import Engine, Kernel, Target, Types


@dataclass(frozen=True)
class Choice:
    engine: Engine
    kernel: Kernel


@dataclass(frozen=True)
class Mapped:
    graph: Graph
    target: Target
    choices: Mapping[str, Choice]
    """By the node's key; views have none."""

    def choice(self, node: Node) -> Choice:
        return self.choices[node.key]

    def __str__(self) -> str:
        lines = [f"mapped {self.graph.name} on {self.target.name}"]
        for node in self.graph.nodes:
            choice = self.choices.get(node.key)
            where = f"{choice.engine.name}: {choice.kernel.stem}" if choice else "view"
            lines.append(f"  {node.op.kind:<24} {node.name:<40} {where}")
        return "\n".join(lines)


def map_nodes(graph: Graph, target: Target) -> Mapped:
    """The first engine and kernel that takes each node; all refusals at once."""
    choices: dict[str, Choice] = {}
    errors: list[CompileError] = []
    for node in graph.nodes:
        if node.op.view:
            continue
        try:
            choices[node.key] = _choose(graph, node, target)
        except Refusal as refusal:
            errors.append(refusal.at(node.where))
    raise_all(errors)
    return Mapped(graph, target, choices)


def _choose(graph: Graph, node: Node, target: Target) -> Choice:
    types = graph.all_types(node)
    reasons = []
    for engine in target.engines:
        for kernel in engine.kernels:
            if type(node.op) is not kernel.op:
                continue
            reason = _objection(kernel, node, types)
            if reason is None:
                return Choice(engine, kernel)
            reasons.append(f"{kernel.stem}: {reason}")
    if not reasons:
        raise Refusal(f"target {target.name} has no kernel for {node.op.kind}", "use another target or operator")
    raise Refusal(f"no kernel of target {target.name} takes it ({'; '.join(reasons)})", "insert a Cast before it")


def _objection(kernel: Kernel, node: Node, types: Types) -> str | None:
    for argument in kernel.arguments():
        for name, kind in types.items():
            if name != argument.stem and not (argument.variadic and name.startswith(argument.stem)):
                continue
            allowed = kernel.allowed(argument)
            if allowed is not None and kind.dtype not in allowed:
                return f"{name} is {kind.dtype}, it takes {', '.join(sorted(allowed))}"
    try:
        reason = kernel.objection(node.op, types)
        if reason is None:
            kernel.params(node.op, types)
    except Refusal as refusal:
        return refusal.what
    return reason
