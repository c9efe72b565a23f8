"""Control flow of ONNX: the branch that an If takes is put in its place, loops of known length are unrolled."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.errors import Refusal, own_faults
from tilewright.frontends.onnx.control_flow import EXPORT_ONE, ControlFlow
from tilewright.frontends.onnx.unrolling import loop, scan


def convert(flow: ControlFlow) -> None:
    """Puts what a node with subgraphs does into its place, or says why that cannot be known."""
    with own_faults(f"node '{flow.node.name}' ({flow.node.op_type})"):
        KINDS[flow.node.op_type](flow)


def _if(flow: ControlFlow) -> None:
    if not flow.node.input or not flow.node.input[0]:
        raise Refusal("the condition is missing")
    condition = flow.scope.constants.get(flow.node.input[0])
    if condition is None:
        _select(flow)
        return
    if condition.size != 1:
        raise Refusal(f"the condition has {condition.size} elements, one expected")
    flow.give(_branch(flow, "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"))


def _branch(flow: ControlFlow, which: str, turn: str = "") -> list[str]:
    return flow.insert(flow.body(which, len(flow.node.output), flow.wanted), {}, turn)


def _select(flow: ControlFlow) -> None:
    """A condition that only the data knows: both branches are computed, and the results of one are taken."""
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
    rank = _declared_rank(flow, position, [len(kind.shape) for kind in kinds if kind])
    shape, shaped = flow.integers(*[1] * rank), flow.named("then_shaped", "else_shaped")
    for name, result in zip(names, shaped, strict=True):
        flow.add("Reshape", [name, shape], [result])
    return tuple(shaped)


def _declared_rank(flow: ControlFlow, position: int, found: list[int]) -> int:
    """The number of axes that both branches declare; the larger one found where they do not."""
    kinds = [flow.bodies[which].output[position].type.tensor_type for which in ("then_branch", "else_branch")]
    declared = {len(kind.shape.dim) if kind.HasField("shape") else -1 for kind in kinds}
    return declared.pop() if len(declared) == 1 and min(declared) >= 0 else max(found)


KINDS: dict[str, Callable[[ControlFlow], None]] = {"If": _if, "Loop": loop, "Scan": scan}
