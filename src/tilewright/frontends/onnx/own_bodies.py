"""If, Loop and Scan that stay control flow: operators with the subgraphs as bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.onnx.bodies import Body
from tilewright.frontends.onnx.control_flow import EXPORT_ONE, ControlFlow
from tilewright.frontends.onnx.counted_loops import counted_turns, unchanged
from tilewright.frontends.onnx.open_lengths import OpenLength
from tilewright.frontends.onnx.own_graphs import OwnGraph, captured_names
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import Branch, Loop
from tilewright.records import dataclass

MOST_TRIPS = 2**31 - 1
"""More than that is no bound: exporters write the largest integer where they mean none."""

KNOWN_TYPES = "loops of known length may change shapes: fix the number of iterations with --bind"


# ---- If -------------------------------------------------------------------------------------------------------------


def branch(flow: ControlFlow) -> None:
    """An If whose condition only the data knows."""
    condition = flow.node.input[0]
    kind = flow.type_of(condition)
    if kind is not None and (kind.dtype != "bool" or kind.elements != 1):
        raise Refusal(f"the condition '{condition}' is {kind}, but one bool is expected", "insert a Cast")
    graphs = [_branch(flow, which) for which in ("then_branch", "else_branch")]
    then, other = graphs
    if then is None or other is None:
        flow.scope.poisoned.update(flow.node.output)
        return
    then, other = _alike(flow, then, other)
    names = captured_names(then, other)
    types = [_type(flow, name) for name in names]
    op = Branch(then.body(names, types), other.body(names, types))
    flow.scope.add_flow(flow.node, op, [condition, *names], [flow.node.output[at] for at in flow.wanted])


def _branch(flow: ControlFlow, which: str) -> OwnGraph | None:
    body = flow.body(which, len(flow.node.output), flow.wanted)

    def insert() -> list[str]:
        made = flow.insert(body, {}, which.removesuffix("_branch"))
        return [made[at] for at in flow.wanted]

    return flow.scope.read_body(f"{flow.name}/{which}", [], insert)


def _alike(flow: ControlFlow, then: OwnGraph, other: OwnGraph) -> tuple[OwnGraph, OwnGraph]:
    """The results of both branches in one shape. A single element may have any number of axes: whatever reads it cannot
    tell. With more elements axes matter, and no shape that is known now would be right for both branches."""
    for position, kinds in enumerate(zip(then.kinds(), other.kinds(), strict=True)):
        if kinds[0] == kinds[1]:
            continue
        if any(kind.elements != 1 for kind in kinds) or kinds[0].dtype != kinds[1].dtype:
            raise Refusal(
                f"the condition '{flow.node.input[0]}' depends on data, and output {flow.wanted[position]} is "
                f"{kinds[0]} in one branch, {kinds[1]} in the other",
                EXPORT_ONE,
            )
        rank = flow.declared_rank(flow.wanted[position], [len(kind.shape) for kind in kinds])
        then, other = (one.shaped(position, (1,) * rank) for one in (then, other))
    return then, other


# ---- Loop -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turns:
    """How often a body runs."""

    trips: int
    """At most; -1 where nothing says it."""
    count: str = ""
    """The tensor that says how often, if data does."""
    condition: str = ""
    """The tensor that says whether at all, if data does."""
    is_said: bool = False
    """Whether the bound is the user's."""
    is_counted: bool = False
    """Whether the number of turns is exact, so that the body's condition does not matter."""


def loop(flow: ControlFlow) -> None:
    """A Loop as a loop: its body is a graph of its own, and what is carried on keeps its types."""
    given = list(flow.node.input[2:])
    body = flow.body("body", 1 + len(flow.node.output))
    if len(body.inputs) != 2 + len(given):
        raise Refusal(f"the body has {len(body.inputs)} inputs, but {2 + len(given)} values are given")
    turns, kept = _turns(flow), unchanged(body, given)
    if not (turns.count or turns.condition) and (counted := counted_turns(flow, given, turns.trips)) is not None:
        turns = Turns(counted, is_counted=True)
    _hand_on(flow, [(name, flow.node.output[at]) for at, name in enumerate(given) if kept[at]])
    _loop(flow, turns, [at for at in range(len(given)) if not kept[at]])


def _hand_on(flow: ControlFlow, pairs: Sequence[tuple[str, str]]) -> None:
    """Values that no turn changes, by their names before and behind the loop."""
    for name, result in pairs:
        if result and result not in flow.unread:
            flow.add("Identity", [name], [result])


def _loop(flow: ControlFlow, turns: Turns, changing: Sequence[int]) -> None:
    """With these of the carried values; turns have the others from around the loop."""
    given, names_of = list(flow.node.input[2:]), flow.node.output
    carried = [given[at] for at in changing]
    stacked = [at for at in flow.wanted if at >= len(given)]
    wanted = (0, *(1 + at for at in (*changing, *stacked)))
    body = flow.body("body", 1 + len(names_of), wanted[turns.is_counted :])
    number, *states = flow.named("iteration", *("carried" for _ in carried))
    (goes,) = flow.named("goes_on")
    flow.scope.constants[goes] = np.full(_counter_shape(body, 1), True)
    inputs = [(number, TensorType("int64", _counter_shape(body, 0)))]
    inputs += [(name, _type(flow, outer)) for name, outer in zip(states, carried, strict=True)]
    own_names = [*given]
    for at, state in zip(changing, states, strict=True):
        own_names[at] = state
    said: list[Array | None] = [np.array(True)] if turns.is_counted else []

    def insert() -> list[str]:
        made = flow.insert(body, dict(zip(body.inputs, [number, goes, *own_names], strict=True)), "turn")
        said.append(flow.scope.constants.get(made[0]))
        return [made[at] for at in wanted[said[0] is not None :]]

    own = flow.scope.read_body(f"{flow.name}/body", inputs, insert)
    if own is None:
        flow.scope.poisoned.update(names_of)
        return
    known = said[0]
    turns = _ended(turns, known)
    own = _carrying_alike(flow, own, carried, int(known is None))
    names = captured_names(own)
    op = Loop(
        own.body(names, [_type(flow, name) for name in names]), _bounded(turns, stacked), len(carried),
        bool(turns.count), bool(turns.condition), known is None, turns.is_said, (), (False,) * len(stacked),
    )  # fmt: skip
    operands = [*filter(None, [turns.count, turns.condition]), *carried, *names]
    named = [names_of[at] or flow.named("unread")[0] for at in (*changing, *stacked)]
    if not op.is_static:
        says = f"has {op.trips} rows, of which those behind the last iteration of '{flow.name}' are 0"
        flow.scope.open_lengths |= dict.fromkeys(named[len(carried) :], OpenLength(0, says))
    flow.scope.add_flow(flow.node, op, operands, named)


def _turns(flow: ControlFlow) -> Turns:
    names = [*flow.node.input[:2], "", ""][:2]
    count, condition = (flow.scope.constants.get(name) if name else None for name in names)
    if condition is not None and not condition.reshape(-1)[0]:
        return Turns(0)
    trips = -1 if count is None else max(int(count.reshape(-1)[0]), 0)
    trips = -1 if trips > MOST_TRIPS else trips
    count_name, condition_name = (
        name if one is None else "" for name, one in zip(names, (count, condition), strict=True)
    )
    if trips < 0 and flow.scope.max_trips is not None:
        return Turns(flow.scope.max_trips, count_name, condition_name, is_said=True)
    return Turns(trips, count_name, condition_name)


def _ended(turns: Turns, known: Array | None) -> Turns:
    """With what a condition that the body always gives says: false ends the loop behind its first iteration."""
    if known is None:
        return turns
    if known.size != 1:
        raise Refusal(f"the condition that the body gives has {known.size} elements, one expected")
    if not known.reshape(-1)[0]:
        is_none = turns.trips == 0 and not turns.is_said
        return replace(turns, trips=0 if is_none else 1, is_said=False)
    if turns.trips < 0 and not turns.count:
        raise Refusal("nothing ends it: no number of iterations is given, and the body's condition is always true")
    return turns


def _bounded(turns: Turns, stacked: Sequence[int]) -> int:
    if turns.trips < 0 and stacked:
        what = f"the number of iterations '{turns.count}'" if turns.count else "the number of iterations"
        raise Refusal(
            f"{what} depends on data, and output {stacked[0]} has an element of each",
            "say how many there are at most: --max-trips N",
        )
    return turns.trips


def _carrying_alike(flow: ControlFlow, own: OwnGraph, carried: Sequence[str], first: int) -> OwnGraph:
    """What a turn gives on has the type of what it got; a single element may have other axes."""
    for position, name in enumerate(carried):
        before, after = _type(flow, name), own.kinds()[first + position]
        if before == after:
            continue
        if before.dtype != after.dtype or before.elements != 1 or after.elements != 1:
            what = f"carried value {position} ('{name}') is {before} before an iteration and {after} behind it"
            raise Refusal(what, KNOWN_TYPES)
        own = own.shaped(first + position, before.shape)
    return own


def _counter_shape(body: Body, position: int) -> tuple[int, ...]:
    """Of the iteration's number and the condition: none, or one axis, as the body says."""
    values = {value.name: value for value in body.graph.input}
    return (1,) * min(len(values[body.inputs[position]].type.tensor_type.shape.dim), 1)


# ---- Scan -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sequences:
    """What a Scan runs over."""

    steps: int
    states: tuple[str, ...]
    taken: tuple[tuple[str, int, bool], ...]
    """For each sequence its name, its axis, and whether it is taken from the end."""
    stacked: tuple[tuple[int, bool], ...]


def scan(flow: ControlFlow, over: Sequences) -> list[str] | None:
    """The names of a Scan's results; None where something inside was refused."""
    body = flow.body("body", len(over.states) + len(over.stacked))
    if len(body.inputs) != len(over.states) + len(over.taken):
        raise Refusal(f"the body has {len(body.inputs)} inputs")
    number, *own_names = flow.named("iteration", *("given" for _ in body.inputs))
    sequences = [_first_axis(flow, name, axis) for name, axis, _ in over.taken]
    elements = [TensorType(kind.dtype, kind.shape[1:]) for kind in (_type(flow, name) for name in sequences)]
    kinds = [*(_type(flow, name) for name in over.states), *elements]
    inputs = [(number, TensorType("int64", ())), *zip(own_names, kinds, strict=True)]

    def insert() -> list[str]:
        return flow.insert(body, dict(zip(body.inputs, own_names, strict=True)), "turn")

    own = flow.scope.read_body(f"{flow.name}/body", inputs, insert)
    if own is None:
        return None
    own = _carrying_alike(flow, own, over.states, 0)
    names = captured_names(own)
    op = Loop(
        own.body(names, [_type(flow, name) for name in names]), over.steps, len(over.states),
        taken=tuple(end for _, _, end in over.taken), stacked=tuple(end for _, end in over.stacked),
    )  # fmt: skip
    results = flow.named(*("result" for _ in (*over.states, *over.stacked)))
    flow.scope.add_flow(flow.node, op, [*over.states, *sequences, *names], results)
    stacks = zip(results[len(over.states) :], over.stacked, strict=True)
    return [*results[: len(over.states)], *(_moved(flow, name, 0, axis) for name, (axis, _) in stacks)]


def _first_axis(flow: ControlFlow, name: str, axis: int) -> str:
    return _moved(flow, name, axis, 0)


def _moved(flow: ControlFlow, name: str, axis: int, to: int) -> str:
    """With an axis at another place."""
    rank = len(_type(flow, name).shape)
    axes = list(range(rank))
    axes.insert(to % rank, axes.pop(axis % rank))
    if axes == list(range(rank)):
        return name
    (result,) = flow.named("moved")
    flow.add("Transpose", [name], [result], perm=axes)
    return result


def _type(flow: ControlFlow, name: str) -> TensorType:
    kind = flow.type_of(name)
    if kind is None:
        raise Refusal(f"reads tensor '{name}', which nothing defines")
    return kind
