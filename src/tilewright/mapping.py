"""Which engine and which kernel computes each node, with the reason for every refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilewright.errors import CompileError, Refusal, raise_all
from tilewright.ir import Graph, Node
from tilewright.target import Engine, Kernel, Target, Types

CAST, OTHERWISE = "insert a Cast before it", "use another target or operator"
"""What to try where element types do not fit, and where something else does not."""


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
    alternatives: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    """What else could compute each node."""

    def choice(self, node: Node) -> Choice:
        return self.choices[node.key]

    def all_choices(self, node: Node) -> tuple[Choice, ...]:
        """The preferred one first."""
        return self.choices[node.key], *self.alternatives.get(node.key, ())

    def __str__(self) -> str:
        lines = [f"mapped {self.graph.name} on {self.target.name}"]
        for node in self.graph.nodes:
            choice = self.choices.get(node.key)
            where = f"{choice.engine.name}: {choice.kernel.stem}" if choice else "view"
            lines.append(f"  {node.op.kind:<24} {node.name:<40} {where}")
        return "\n".join(lines)


def only_engines(target: Target, names: tuple[str, ...]) -> Target:
    """The target with none but the engines of these names; all where none is named."""
    known = [engine.name for engine in target.engines]
    for name in names:
        if name not in known:
            raise CompileError(f"engine '{name}'", f"target {target.name} has {', '.join(known)}")
    return replace(target, engines=tuple(e for e in target.engines if e.name in names)) if names else target


def map_nodes(graph: Graph, target: Target) -> Mapped:
    """The first engine and kernel that takes each node; all refusals at once."""
    choices: dict[str, Choice] = {}
    alternatives: dict[str, tuple[Choice, ...]] = {}
    errors: list[CompileError] = []
    for node in graph.nodes:
        if node.op.view:
            continue
        try:
            choices[node.key], *others = _possible(graph, node, target)
            alternatives[node.key] = tuple(others)
        except Refusal as refusal:
            errors.append(refusal.at(node.where))
    raise_all(errors)
    return Mapped(graph, target, choices, alternatives)


def _possible(graph: Graph, node: Node, target: Target) -> list[Choice]:
    """Every engine and kernel that takes a node, in the target's order; at least one."""
    types = graph.all_types(node)
    found: list[Choice] = []
    reasons, hints = [], []
    for engine in target.engines:
        for kernel in engine.kernels:
            if type(node.op) is not kernel.op:
                continue
            objection = _objection(kernel, node, types)
            if objection is None:
                found.append(Choice(engine, kernel))
                continue
            reasons.append(f"{kernel.stem}: {objection.what}")
            hints.append(objection.hint)
    if found:
        return found
    if not reasons:
        raise Refusal(f"target {target.name} has no kernel for {node.op.kind}", OTHERWISE)
    raise Refusal(f"no kernel of target {target.name} takes it ({'; '.join(reasons)})", _best_hint(hints))


def _best_hint(hints: list[str]) -> str:
    """What to try: a Cast helps only where no kernel is for these element types."""
    others = dict.fromkeys(hint for hint in hints if hint != CAST)
    return "; ".join(filter(None, others)) or OTHERWISE if others else CAST


def _objection(kernel: Kernel, node: Node, types: Types) -> Refusal | None:
    for argument in kernel.arguments():
        for name, kind in types.items():
            if name != argument.stem and not (argument.variadic and name.startswith(argument.stem)):
                continue
            allowed = kernel.allowed(argument)
            if allowed is not None and kind.dtype not in allowed:
                return Refusal(f"{name} is {kind.dtype}, it takes {', '.join(sorted(allowed))}", CAST)
    try:
        reason = kernel.objection(node.op, types)
        if reason is None:
            kernel.params(node.op, types)
    except Refusal as refusal:
        return refusal
    return None if reason is None else Refusal(reason)
