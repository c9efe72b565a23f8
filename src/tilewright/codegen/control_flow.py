"""Loops and branches as C: a function for each layer that is one, and a function for each of its bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilewright.codegen.arena_calls import ArenaCalls
from tilewright.codegen.flow_names import PREFIX, checked, function_name
from tilewright.codegen.functions import mentions
from tilewright.codegen.literals import C_TYPES
from tilewright.codegen.names import comment
from tilewright.codegen.network import Writer
from tilewright.errors import InternalError
from tilewright.ir.types import TensorType
from tilewright.ops._control_flow import Branch, Loop
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import Planned, Slice, may_stop, planned_layers
from tilewright.planner.schedule.schedule import Schedule


def functions(
    schedule: Schedule, calls_of: Callable[[Schedule, str], ArenaCalls], inside: str = PREFIX
) -> Iterator[str]:
    """Of all control flow, innermost first. `calls_of` gives the calls of a body, in which names of functions begin
    with another."""
    for layer, op in planned_layers(schedule):
        name = function_name(layer, inside)
        for body, which in zip(op.schedules, op.body_names, strict=True):
            calls = calls_of(body, f"{name}_{which}")
            yield from functions(body, calls_of, calls.inside)
            yield calls.shared_layers() + _body(calls.inside, calls.network, calls.text())
        title = f"/* {comment(layer.node.name)} ({comment(str(op))}) */"
        kind, end = _ends(op.may_stop)
        yield f"{title}\nTW_FLOW {kind} {name}({_arguments(schedule, layer)}) {{\n{_text(name, op)}{end}\n}}\n"


def _ends(stops: bool) -> tuple[str, str]:
    """What functions give, and how they end."""
    return ("int", "\n  return 0;") if stops else ("void", "")


def _body(name: str, writer: Writer, calls: str) -> str:
    graph = writer.schedule.graph
    inputs = [f"const {writer.c_type_of(one)} *{writer.identifiers[one]}" for one in graph.inputs]
    outputs = [f"{writer.c_type_of(one)} *{writer.identifiers[one]}" for one in graph.outputs]
    given = [*(writer.identifiers[one] for one in graph.inputs), "arena"]
    unused = "".join(f"  (void){one};\n" for one in given if not mentions(calls, one))
    arguments = ",\n    ".join([*inputs, *outputs, "unsigned char *arena"])
    kind, end = _ends(may_stop(writer.schedule))
    return f"TW_FLOW {kind} {name}(\n    {arguments}) {{\n{unused}{calls}{end}\n}}\n"


def _arguments(schedule: Schedule, layer: LayerSchedule) -> str:
    types = schedule.graph.types
    read = [f"const {C_TYPES[types[name].dtype]} *x{at}" for at, name in enumerate(layer.node.inputs)]
    made = [f"{C_TYPES[kind.dtype]} *y{at}" for at, kind in enumerate(_planned(layer).result_types())]
    return ", ".join([*read, *made, "unsigned char *scratch"])


def _planned(layer: LayerSchedule) -> Planned:
    if not isinstance(layer.node.op, Planned):
        raise InternalError(layer.node.where, "is no control flow")
    return layer.node.op


def _text(name: str, op: Planned) -> str:
    if isinstance(op.flow, Branch):
        return "\n".join(_branch(name, op))
    if isinstance(op.flow, Loop):
        return "\n".join(_loop(name, op, op.flow))
    raise InternalError(name, f"{op} has no C")


def _branch(name: str, op: Planned) -> Iterator[str]:
    others = [f"x{at}" for at in range(1, 1 + len(op.bodies[0].inputs))]
    given = ", ".join([*others, *(f"y{at}" for at in range(len(op.result_types()))), _at(op.memory.arena)])
    then, other = (
        checked(f"{name}_{which}({given})", may_stop(body))
        for which, body in zip(op.body_names, op.schedules, strict=True)
    )
    yield f"  if (*x0) {{\n    {then}\n  }} else {{\n    {other}\n  }}"


# ---- loops ----------------------------------------------------------------------------------------------------------


def _loop(name: str, op: Planned, loop: Loop) -> Iterator[str]:
    yield f"  {'' if loop.asks else 'const '}int64_t wanted = {'*x0' if loop.counts else 'INT64_MAX'};"
    if loop.asks:
        yield f"  if (!*x{int(loop.counts)}) wanted = 0;"
    limit = f"wanted < {loop.trips} ? wanted : {loop.trips}" if loop.is_bounded else "wanted"
    yield f"  const int64_t limit = {limit};"
    for at, (kind, place) in enumerate(zip(loop.result_types(), op.memory.next_values, strict=False)):
        c_type = C_TYPES[kind.dtype]
        yield f"  {c_type} *now_{at} = y{at}, *next_{at} = ({c_type} *){_at(place)};"
        yield f"  memcpy(y{at}, x{loop.first + at}, {kind.bytes});"
    if not loop.is_static:
        for at, kind in list(enumerate(loop.result_types()))[loop.carried :]:
            yield f"  memset(y{at}, 0, {kind.bytes});"
    yield "  int64_t turn = 0;"
    if loop.tests:
        yield "  uint8_t goes_on = 1;"
    yield f"  for (; turn < limit{' && goes_on' if loop.tests else ''}; turn++) {{"
    yield from (f"    {line}" for line in _turn(name, op, loop))
    yield "  }"
    if loop.checked:
        yield f"  if (turn < wanted{' && goes_on' if loop.tests else ''}) return TW_TOO_MANY_TURNS;"
    for at, kind in enumerate(loop.result_types()[: loop.carried]):
        yield f"  if (now_{at} != y{at}) memcpy(y{at}, now_{at}, {kind.bytes});"


def _turn(name: str, op: Planned, loop: Loop) -> Iterator[str]:
    """One call of the body, and what it needs before and behind it."""
    given = ["&turn", *(f"now_{at}" for at in range(loop.carried))]
    first = loop.first + loop.carried
    for at, (kind, place, end) in enumerate(zip(loop.elements_in, op.memory.elements_in, loop.taken, strict=True)):
        element = _element(f"x{first + at}", kind, loop, end)
        if place is not None:
            yield f"memcpy({_at(place)}, {element}, {kind.bytes});"
            element = f"(const {C_TYPES[kind.dtype]} *){_at(place)}"
        given.append(element)
    captured = len(loop.body.inputs) - 1 - loop.carried - len(loop.taken)
    given += [f"x{loop.own_operands + at}" for at in range(captured)]
    given += ["&goes_on"] if loop.tests else []
    given += [f"next_{at}" for at in range(loop.carried)]
    behind = []
    for at, (kind, place, end) in enumerate(zip(loop.elements_out, op.memory.elements_out, loop.stacked, strict=True)):
        element = _element(f"y{loop.carried + at}", kind, loop, end)
        if place is not None:
            behind.append(f"memcpy({element}, {_at(place)}, {kind.bytes});")
            element = f"({C_TYPES[kind.dtype]} *){_at(place)}"
        given.append(element)
    yield checked(f"{name}_body({', '.join([*given, _at(op.memory.arena)])})", may_stop(op.schedules[0]))
    yield from behind
    for at, kind in enumerate(loop.result_types()[: loop.carried]):
        c_type = C_TYPES[kind.dtype]
        yield f"{{ {c_type} *const made = next_{at}; next_{at} = now_{at}; now_{at} = made; }}"


def _element(pointer: str, kind: TensorType, loop: Loop, from_end: bool) -> str:
    turn = f"({loop.trips - 1} - turn)" if from_end else "turn"
    return f"{pointer} + {turn} * {kind.elements}"


def _at(place: Slice) -> str:
    return f"(scratch + {place.offset})" if place.offset else "scratch"
