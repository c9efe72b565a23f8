"""Control flow of ONNX: the branch that an If takes is put in its place, short loops of known length are unrolled. What
depends on data, or is long, becomes operators with bodies."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.errors import Refusal, own_faults
from tilewright.frontends.onnx import own_bodies
from tilewright.frontends.onnx.control_flow import EXPORT_ONE, ControlFlow
from tilewright.frontends.onnx.unrolling import loop, scan

FEW_NODES = 4
"""Of both branches of an If that are computed although one of them is for nothing."""
SELECTED = frozenset({
    "Add", "And", "Cast", "Flatten", "Identity", "Mul", "Neg", "Not", "Or", "Reshape", "Squeeze", "Sub", "Unsqueeze",
})  # fmt: skip


def convert(flow: ControlFlow) -> None:
    """Puts what a node with subgraphs does into its place, or says why that cannot be known."""
    with own_faults(f"node '{flow.node.name}' ({flow.node.op_type})"):
        KINDS[flow.node.op_type](flow)


def _if(flow: ControlFlow) -> None:
    if not flow.node.input or not flow.node.input[0]:
        raise Refusal("the condition is missing")
    condition = flow.scope.constants.get(flow.node.input[0])
    if condition is None:
        (_select if _is_selected(flow) else own_bodies.branch)(flow)
        return
    if condition.size != 1:
        raise Refusal(f"the condition has {condition.size} elements, one expected")
    flow.give(_branch(flow, "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"))


def _branch(flow: ControlFlow, which: str, turn: str = "") -> list[str]:
    return flow.insert(flow.body(which, len(flow.node.output), flow.wanted), {}, turn)


def _is_selected(flow: ControlFlow) -> bool:
    """Whether both branches are so little that a choice between their results takes less than a branch: a few nodes
    that compute element by element and cannot go wrong where they are not meant to run."""
    nodes = [node for graph in flow.bodies.values() for node in graph.node if node.op_type != "Constant"]
    return len(nodes) <= FEW_NODES and all(node.op_type in SELECTED for node in nodes)


def _select(flow: ControlFlow) -> None:
    """Both branches are computed, and the results of one are taken."""
    kind = flow.type_of(flow.node.input[0])
    if kind is not None and (kind.dtype != "bool" or kind.elements != 1):
        raise Refusal(f"the condition '{flow.node.input[0]}' is {kind}, but one bool is expected", "insert a Cast")
    then, other = _branch(flow, "then_branch", "then"), _branch(flow, "else_branch", "else")
    (condition,) = flow.named("condition")
    flow.add("Squeeze", [flow.node.input[0]], [condition])
    for position in flow.wanted:
        output, names = flow.node.output[position], (then[position], other[position])
        if flow.scope.poisoned & {condition, *names}:
            flow.scope.poisoned.add(output)
            continue
        flow.add("Where", [condition, *_alike(flow, position, names)], [output])


def _alike(flow: ControlFlow, position: int, names: tuple[str, str]) -> tuple[str, ...]:
    """The results of both branches in one shape. A single element may have any number of axes: whatever reads it cannot
    tell. With more elements axes matter, and no shape that is known now would be right for both branches."""
    kinds = [flow.type_of(name) for name in names]
    if kinds[0] == kinds[1]:
        return names
    if any(kind is None or kind.elements != 1 for kind in kinds) or len({kind.dtype for kind in kinds if kind}) != 1:
        raise Refusal(
            f"the condition '{flow.node.input[0]}' depends on data, and output {position} is {kinds[0]} in one branch, "
            f"{kinds[1]} in the other",
            EXPORT_ONE,
        )
    rank = flow.declared_rank(position, [len(kind.shape) for kind in kinds if kind])
    shape, shaped = flow.integers(*[1] * rank), flow.named("then_shaped", "else_shaped")
    for name, result in zip(names, shaped, strict=True):
        flow.add("Reshape", [name, shape], [result])
    return tuple(shaped)


KINDS: dict[str, Callable[[ControlFlow], None]] = {"If": _if, "Loop": loop, "Scan": scan}
