"""Loops of known length: iteration by iteration where these are few or have shapes of their own, else as loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import helper

from tilewright.errors import CompileError, Refusal
from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx import own_bodies
from tilewright.frontends.onnx.bodies import Body
from tilewright.frontends.onnx.control_flow import EXPORT_ONE, ControlFlow
from tilewright.ir.types import Shape
from tilewright.ops._control_flow import MOST_UNROLLED
from tilewright.records import dataclass

FEW = 256
"""Nodes that a loop becomes rather than staying a loop: what is known of an iteration then makes it smaller, values
that are carried on need no copies, and the code of calls is still about as large as that of kernels."""


class Undecided(Refusal):
    """Data decides how long a loop is."""


class TooMany(Refusal):
    """Iterations have too many nodes."""


def loop(flow: ControlFlow) -> None:
    """A Loop: unrolled where its iterations are known and few, else as a loop, or unrolled after all where that cannot
    be, as shapes differ from one iteration to the next."""
    _unrolled_or_not(flow, lambda limit: _unrolled_loop(flow, limit), lambda: own_bodies.loop(flow))


def _unrolled_or_not(flow: ControlFlow, unroll: Callable[[int], None], stay: Callable[[], None]) -> None:
    why: list[Refusal] = []

    def unrolled(limit: int) -> list[CompileError]:
        """What stands in the way of that."""
        return flow.scope.attempt(flow.where, lambda: _noting(why, lambda: unroll(limit)))

    if not unrolled(FEW):
        return
    if not why or not isinstance(why[-1], Undecided | TooMany):
        unroll(FEW)  # a node inside is at fault, in whatever form
        return
    first, told = why[-1], flow.scope.attempt(flow.where, stay)
    if not told or (isinstance(first, TooMany) and not unrolled(MOST_UNROLLED)):
        return
    if isinstance(why[-1], TooMany) and why[-1] is not first and _is_about(told, flow):
        told = [*told, why[-1].at(flow.where)]
    flow.scope.report(told)
    flow.scope.poisoned.update(flow.node.output)


def _is_about(errors: Sequence[CompileError], flow: ControlFlow) -> bool:
    """Whether all of them are about the loop itself rather than nodes in it."""
    return all(error.where == flow.where for error in errors)


def _noting(refusals: list[Refusal], action: Callable[[], None]) -> None:
    try:
        action()
    except Refusal as refusal:
        refusals.append(refusal)
        raise


def _unrolled_loop(flow: ControlFlow, limit: int) -> None:
    """The body's inputs are the iteration's number, a condition and the values that are carried on; its outputs a
    condition, the values to carry on, and those that are stacked."""
    trips, carried = _trips(flow), list(flow.node.input[2:])
    body = flow.body("body", 1 + len(flow.node.output))
    if len(body.inputs) != 2 + len(carried):
        raise Refusal(f"the body has {len(body.inputs)} inputs, but {2 + len(carried)} values are given")
    stacks: list[list[str]] = [[] for _ in flow.node.output[len(carried) :]]
    turn, goes_on = 0, _condition(flow, flow.node.input[1] if len(flow.node.input) > 1 else "", "to begin with")
    while goes_on and (trips is None or turn < trips):
        _count(flow, body, turn, trips, limit, is_sure=not _may_end_early(body))
        values = [*flow.counters(body, turn), *carried]
        condition, *made = flow.insert(body, dict(zip(body.inputs, values, strict=True)), str(turn))
        if _is_poisoned(flow, [condition, *made]):
            return
        carried = made[: len(carried)]
        for stack, name in zip(stacks, made[len(carried) :], strict=True):
            stack.append(name)
        turn += 1
        goes_on = _condition(flow, condition, f"after {turn} iterations")
        if goes_on and trips is None and _stays_the_same(body):
            raise Undecided("its condition stays true: nothing ends it")
    first = 1 + len(carried)
    flow.give([*carried, *(_stacked(flow, body, first + i, stack, 0) for i, stack in enumerate(stacks))])


def _trips(flow: ControlFlow) -> int | None:
    """The number of iterations; None where the condition alone ends them."""
    name = flow.node.input[0] if flow.node.input else ""
    return max(int(_known(flow, name, f"the number of iterations '{name}'")), 0) if name else None


def _condition(flow: ControlFlow, name: str, when: str) -> bool:
    return bool(_known(flow, name, f"the condition '{name}' {when}")) if name else True


def _known(flow: ControlFlow, name: str, what: str) -> np.generic:
    """The one element of a constant that decides how long a loop is."""
    value = flow.scope.constants.get(name)
    if value is None:
        raise Undecided(f"{what} depends on data: loops must have a known length", EXPORT_ONE)
    if value.size != 1:
        raise Refusal(f"{what} has {value.size} elements, one expected")
    return value.reshape(-1)[0]


def _count(flow: ControlFlow, body: Body, turn: int, trips: int | None, limit: int, is_sure: bool = True) -> None:
    """Refuses what would become absurdly large: at once where the number of iterations tells."""
    size = max(len(body.nodes), 1)
    rest = trips - turn - 1 if trips is not None and is_sure else 0
    flow.scope.unrolled += size
    if flow.scope.unrolled + size * rest <= MOST_UNROLLED and size * (turn + 1 + rest) <= limit:
        return
    count = f"more than {turn} iterations" if trips is None or not is_sure else f"{trips} iterations"
    others = flow.scope.unrolled - size * (turn + 1)
    beside = f", beside {others} nodes of other loops" if others else ""
    raise TooMany(
        f"{count} of {size} nodes each{beside}: more than the {MOST_UNROLLED} nodes that loops may become unrolled",
        "fewer steps at a time, or a recurrent operator (LSTM, GRU, RNN) in place of the loop",
    )


def _may_end_early(body: Body) -> bool:
    """Whether the condition may change: it is neither a constant nor the one that came in."""
    name = body.graph.output[0].name
    maker = next((node for node in body.graph.node if name in node.output), None)
    return maker is not None and maker.op_type not in ("Constant", "Identity")


def _stays_the_same(body: Body) -> bool:
    """Whether the condition is a constant, or the one that came in."""
    makers = {name: node for node in body.graph.node for name in node.output}
    name = body.graph.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    return makers[name].op_type == "Constant" if name in makers else name == body.inputs[1]


def _is_poisoned(flow: ControlFlow, names: Sequence[str]) -> bool:
    """Whether something in an iteration was refused: one iteration is enough to know it."""
    if not any(name in flow.scope.poisoned for name in names):
        return False
    flow.scope.poisoned.update(flow.node.output)
    return True


def _stacked(flow: ControlFlow, body: Body, position: int, names: Sequence[str], axis: int) -> str:
    """An output of all iterations; of none, an empty one of the declared shape."""
    if names:
        return flow.stacked(names, axis)
    value = body.graph.output[position]
    shape = onnx_file.static_shape(value)
    if shape is None:
        raise Refusal("there are no iterations, and the shape of what they would give is not declared")
    (result,) = flow.named("empty")
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type or 1)
    flow.scope.constants[result] = np.zeros((*shape[:axis], 0, *shape[axis:]), dtype)
    return result


# ---- Scan -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scanned:
    """The attributes of a Scan."""

    states: int
    inputs: tuple[tuple[int, bool], ...]
    """For each sequence its axis, and whether it is taken from the end."""
    outputs: tuple[tuple[int, bool], ...]


def scan(flow: ControlFlow) -> None:
    """A Scan: the body's inputs are states and an element of each sequence; its outputs states and elements."""
    given = [name for name in flow.node.input if name] if flow.scope.opset >= 9 else list(flow.node.input[1:])
    scanned = _scanned(flow, given)
    if flow.scope.opset >= 9:
        flow.give(_scan(flow, scanned, given, "") or [])
        return
    if flow.node.input[0]:
        raise Refusal("lengths of sequences are not supported", "export with opset 9 or later")
    _each_of_batch(flow, scanned, given)


def _scanned(flow: ControlFlow, given: Sequence[str]) -> Scanned:
    found = {item.name: helper.get_attribute_value(item) for item in flow.node.attribute if item.name != "body"}
    count = int(found.get("num_scan_inputs", 0))
    states, stacked = len(given) - count, len(flow.node.output) - (len(given) - count)
    if count < 1 or states < 0 or stacked < 0:
        raise Refusal(f"num_scan_inputs is {count}, with {len(given)} inputs and {len(flow.node.output)} outputs")
    before = found.get("directions", [0] * count)
    return Scanned(
        states,
        _axes(found.get("scan_input_axes"), found.get("scan_input_directions", before), count),
        _axes(found.get("scan_output_axes"), found.get("scan_output_directions"), stacked),
    )


def _axes(axes: Sequence[int] | None, directions: Sequence[int] | None, count: int) -> tuple[tuple[int, bool], ...]:
    found, turned = axes or [0] * count, directions or [0] * count
    if len(found) != count or len(turned) != count:
        raise Refusal(f"{len(found)} axes and {len(turned)} directions for {count} sequences")
    return tuple((int(axis), bool(direction)) for axis, direction in zip(found, turned, strict=True))


def _scan(flow: ControlFlow, scanned: Scanned, given: Sequence[str], before: str) -> list[str] | None:
    """The outputs' names; None where something inside was refused."""
    made: list[list[str] | None] = []
    states, sequences = tuple(given[: scanned.states]), given[scanned.states :]
    taken = tuple((name, *how) for name, how in zip(sequences, scanned.inputs, strict=True))
    over = own_bodies.Sequences(_steps(flow, scanned, sequences), states, taken, scanned.outputs)
    _unrolled_or_not(
        flow,
        lambda limit: made.append(_unrolled_scan(flow, scanned, given, before, limit)),
        lambda: made.append(own_bodies.scan(flow, over)),
    )
    return made[-1] if made else None


def _unrolled_scan(
    flow: ControlFlow, scanned: Scanned, given: Sequence[str], before: str, limit: int
) -> list[str] | None:
    body = flow.body("body", len(flow.node.output))
    if len(body.inputs) != len(given):
        raise Refusal(f"the body has {len(body.inputs)} inputs, but {len(given)} values are given")
    states, sequences = list(given[: scanned.states]), given[scanned.states :]
    steps = _steps(flow, scanned, sequences)
    stacks: list[list[str]] = [[] for _ in scanned.outputs]
    for turn in range(steps):
        _count(flow, body, turn, steps, limit)
        elements = [
            _element(flow, name, axis, steps - 1 - turn if turned else turn)
            for name, (axis, turned) in zip(sequences, scanned.inputs, strict=True)
        ]
        made = flow.insert(body, dict(zip(body.inputs, [*states, *elements], strict=True)), f"{before}{turn}")
        if _is_poisoned(flow, made):
            return None
        states = made[: scanned.states]
        for stack, name in zip(stacks, made[scanned.states :], strict=True):
            stack.append(name)
    results = enumerate(zip(stacks, scanned.outputs, strict=True), scanned.states)
    return [
        *states,
        *(_stacked(flow, body, i, stack[::-1] if turned else stack, axis) for i, (stack, (axis, turned)) in results),
    ]


def _shape(flow: ControlFlow, name: str) -> Shape:
    kind = flow.type_of(name)
    if kind is None:
        raise Refusal(f"reads tensor '{name}', which nothing defines")
    return kind.shape


def _steps(flow: ControlFlow, scanned: Scanned, sequences: Sequence[str]) -> int:
    lengths = set()
    for name, (axis, _) in zip(sequences, scanned.inputs, strict=True):
        shape = _shape(flow, name)
        if not -len(shape) <= axis < len(shape):
            raise Refusal(f"axis {axis} is outside a tensor of rank {len(shape)}")
        lengths.add(shape[axis])
    if len(lengths) != 1:
        raise Refusal(f"sequences of different lengths: {sorted(lengths)}")
    return lengths.pop()


def _element(flow: ControlFlow, name: str, axis: int, position: int) -> str:
    """One element of a sequence, without its axis."""
    part, element = flow.named("slice", "element")
    axis %= len(_shape(flow, name))
    if flow.scope.opset < 10:
        flow.add("Slice", [name], [part], starts=[position], ends=[position + 1], axes=[axis])
    else:
        flow.add("Slice", [name, *(flow.integers(i) for i in (position, position + 1, axis))], [part])
    flow.with_axis("Squeeze", part, axis, element)
    return element


def _each_of_batch(flow: ControlFlow, scanned: Scanned, given: Sequence[str]) -> None:
    """Before opset 9 every tensor has a batch as its first axis: each of it is scanned alone."""
    made = []
    for b in range(_shape(flow, given[0])[0]):
        results = _scan(flow, scanned, [_element(flow, name, 0, b) for name in given], f"{b}/")
        if results is None:
            return
        made.append(results)
    flow.give([flow.stacked(names, 0) for names in zip(*made, strict=True)])
