"""Whether networks give what they should on a machine.

The C is held to the reference, and the reference to the model as imported (`Program.check`, docs/agreement.md); both to
the other runtime's results: integers exactly, floats by their distance from a computation in double; where the other
runtime is far from it, the model in double by ONNX's own evaluator decides, about integers as well. In some programs
arrays lie between pages that may not be touched and the arena holds patterns, or the virtual SoC reports reads of what
nobody wrote.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.differential import exported, learning
from benchmarks.differential.case import Case
from benchmarks.differential.guarded_call import call
from benchmarks.differential.limited import Ended, limited
from benchmarks.differential.machines import EXPORTED
from benchmarks.differential.merging import merged, prefix
from benchmarks.in_double import outputs_in_double, part_for
from tests.support.double import evaluated

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.run.rounding import Floors
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.processors import NATIVE, is_here
from tilewright.target.runner import HostProcess
from tilewright.target.settings import DEFAULT, Settings

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
FLOATS = 2e-5
"""Of the largest element: what floats may be off numbers in double, where float32 is good for that."""
OTHERS = 1e-3
"""The same for another runtime."""
SMALLEST = 0.01
"""Logarithms of what is nearly one have no digits of their own."""
SIMULATED_CYCLES = 2_000_000_000
SECONDS, SECONDS_EACH = 20, 2
"""Of a program, and for each of its networks."""
SECONDS_OF_LESSON = 60
"""More where a network learns: three programs, and every step of theirs."""


@dataclass(frozen=True)
class Verdict:
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Place:
    """Where networks run."""

    target: str
    settings: Settings = DEFAULT
    is_watched: bool = False
    """Whether reads and writes are looked at too."""


def verdicts(cases: Sequence[Case], place: Place) -> list[Verdict]:
    """Of each case; all those that can be imported are one program, but for those that learn."""
    others = iter(_inferred([case for case in cases if not case.recipe], place))
    return [_learned(case, place) if case.recipe else next(others) for case in cases]


def _inferred(cases: Sequence[Case], place: Place) -> list[Verdict]:
    graphs = [_imported(case) for case in cases]
    sound = [(case, graph) for case, graph in zip(cases, graphs, strict=True) if isinstance(graph, Graph)]
    found = iter(_together(sound, place))
    return [next(found) if isinstance(graph, Graph) else graph for graph in graphs]


def _imported(case: Case) -> Graph | Verdict:
    try:
        model = case.model if case.suffix == ".tflite" else case.proto
        return pipeline.import_model(model, **case.options)
    except CompileError as error:
        return _refusal(error)
    except Exception as error:
        return Verdict(WRONG, _fault(error))


def _together(cases: Sequence[tuple[Case, Graph]], place: Place) -> list[Verdict]:
    """Where a program of several fails, its halves are tried, to find the one that is at fault."""
    if not cases:
        return []
    problem = _within_limits(cases, place)
    if problem.status == RIGHT or len(cases) == 1:
        return [problem] * len(cases)
    middle = len(cases) // 2
    return [*_together(cases[:middle], place), *_together(cases[middle:], place)]


def _within_limits(cases: Sequence[tuple[Case, Graph]], place: Place) -> Verdict:
    try:
        found: Verdict = limited(lambda: _verdict(cases, place), SECONDS + SECONDS_EACH * len(cases))
        return found
    except Ended as ended:
        return Verdict(WRONG, str(ended))


def _learned(case: Case, place: Place) -> Verdict:
    try:
        return limited(lambda: _lesson(case, place), SECONDS + SECONDS_OF_LESSON)  # type: ignore[no-any-return]
    except Ended as ended:
        return Verdict(WRONG, str(ended))


def _lesson(case: Case, place: Place) -> Verdict:
    try:
        problem = next(learning.problems(case, place.target, place.settings), "")
    except CompileError as error:
        return _refusal(error)
    except Exception as error:
        return Verdict(WRONG, _fault(error))
    return Verdict(WRONG, problem) if problem else Verdict(RIGHT)


def _verdict(cases: Sequence[tuple[Case, Graph]], place: Place) -> Verdict:
    try:
        if place.target == EXPORTED:
            return _exported(cases)
        graph = merged([graph for _, graph in cases])
        compiled = Compiled(*pipeline.stages(graph, place.target, "", place.settings))
        program = Program(compiled, "", None, 0.0, None, place.settings)
        problem = next(_problems(cases, program, place), "")
    except CompileError as error:
        return _refusal(error)
    except Exception as error:
        return Verdict(WRONG, _fault(error))
    return Verdict(WRONG, problem) if problem else Verdict(RIGHT)


def _exported(cases: Sequence[tuple[Case, Graph]]) -> Verdict:
    try:
        problem = next((text for case, graph in cases for text in exported.problems(case, graph)), "")
    except exported.NotRun as error:
        return Verdict(REFUSED, f"export: {error}")
    return Verdict(WRONG, problem) if problem else Verdict(RIGHT)


def _refusal(error: CompileError) -> Verdict:
    if not error.where or not error.what:
        return Verdict(WRONG, f"a refusal without text: {error}")
    if error.where.startswith("compiler "):
        return Verdict(WRONG, f"its C is not compiled: {error}")
    return Verdict(REFUSED, str(error))


def _fault(error: Exception) -> str:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "tilewright" in frame.filename]
    place = f" at {own[-1].filename.rpartition('tilewright/')[2]}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {error}{place}"


def _problems(cases: Sequence[tuple[Case, Graph]], program: Program, place: Place) -> Iterator[str]:
    feeds = {prefix(i) + name: value for i, (case, _) in enumerate(cases) for name, value in case.feeds.items()}
    checked = program.check(feeds)
    if checked.first_difference is not None:
        yield f"differs: {checked.first_difference}"
    for number, (case, graph) in enumerate(cases):
        start = prefix(number)
        found = {name.removeprefix(start): v for name, v in checked.result.outputs.items() if name.startswith(start)}
        yield from _beside_others(case, graph, found)
    if place.is_watched:
        yield from filter(None, [_watched(program, feeds)])


# ---- numbers --------------------------------------------------------------------------------------------------------


def _beside_others(case: Case, graph: Graph, found: Mapping[str, Array]) -> Iterator[str]:
    """What is wrong with outputs, beside those of another runtime."""
    own = [name for name in graph.output_names if name in case.allowed]
    arbiter = Arbiter(case)
    for name in own:
        yield from _apart(name, found[name], case.expected.get(name), case.allowed[name], arbiter)
    others = [name for name in graph.output_names if name not in case.allowed]
    if others and case.feeds:
        values, double = evaluate(graph, case.feeds), in_double(graph, case.feeds)
        single, floors = graph.outputs_by_name(values), Floors(graph, lambda: values, others=False)
        tensors = dict(zip(graph.output_names, graph.outputs, strict=True))
        for name in others:
            other, rounding = case.expected.get(name), _rounding(single[name], double.get(name), floors(tensors[name]))
            yield from _float_problems(name, found[name], single[name], double.get(name), other, rounding, arbiter)


def _rounding(single: Array, double: Array | None, floor: float) -> float:
    """How far numbers in float32 may be: as numpy's are, or more where a clip or a difference hides what they are
    rounded by."""
    return 0.0 if double is None or single.dtype.kind != "f" else max(_distance(single, double), floor)


def _apart(name: str, found: Array, wanted: Array | None, allowed: float, arbiter: Arbiter) -> Iterator[str]:
    if wanted is None:
        return
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        yield f"{name}: {found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
        return
    distance = _distance(found, wanted)
    if wanted.dtype.kind == "f":
        allowed += 1e-6 * _scale(wanted)  # a step between two floats is as long as they are rounded
    if distance > allowed and not arbiter.confirms(name, found, 0.0):
        yield f"{name}: {distance:g} from the other runtime, {allowed:g} allowed"


@dataclass(frozen=True)
class Arbiter:
    """Where another runtime is far from double: whether the model as others define it is there too, or ours alone."""

    case: Case

    def confirms(self, name: str, found: Array, allowed: float) -> bool:
        if self.case.suffix != ".onnx":
            return False
        exact = (outputs_in_double(part_for(self.case.proto, name), self.case.feeds) or {}).get(name)
        return exact is not None and exact.shape == found.shape and _distance(found, exact) <= allowed


def _float_problems(
    name: str, found: Array, single: Array, double: Array | None, other: Array | None, rounding: float, arbiter: Arbiter
) -> Iterator[str]:
    if single.dtype.kind != "f":
        yield from _apart(name, found, other, 0.0, arbiter)
        return
    truth = single if double is None else double
    scale, ours = _scale(truth), _distance(found, truth)
    if double is not None and ours > max(FLOATS * scale, 8 * rounding):
        yield f"{name}: {ours / scale:g} of the largest element off double; numpy in float32 {rounding / scale:g}"
    if other is None:
        return
    if other.shape != found.shape:
        yield f"{name}: {found.shape} for {other.shape}"
        return
    theirs, allowed = _distance(other, truth), max(OTHERS * scale, 8 * rounding)
    if theirs > allowed and not arbiter.confirms(name, found, allowed):
        yield f"{name}: another runtime is {theirs / scale:g} of the largest element off ours in double"


def _scale(wanted: Array) -> float:
    finite = np.abs(wanted[np.isfinite(wanted)])
    return max(float(finite.max(initial=0.0)), SMALLEST)


def _distance(found: Array, wanted: Array) -> float:
    """The largest difference; of integers at least 1 if it is too small for a double to show."""
    if found.dtype.kind in "biu" and wanted.dtype.kind in "biu" and not np.array_equal(found, wanted):
        return max(1.0, _distance(found.astype(np.float64), wanted.astype(np.float64)))
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(left - right))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def in_double(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs with all floats in double; none where an operator does not take them."""
    try:
        values = evaluated(graph, feeds)
    except Exception:
        return {}
    return {name: value for name, value in graph.outputs_by_name(values).items() if value.dtype == np.float64}


# ---- reads and writes -----------------------------------------------------------------------------------------------


def _watched(program: Program, feeds: Mapping[str, Array]) -> str:
    runner = program.compiled.schedule.target.runner
    if isinstance(runner, HostProcess):
        return _between_guards(program, list(feeds.values())) if is_here(runner.cpu or NATIVE) else ""
    simulator = program.compiled.schedule.target.machine()
    if isinstance(simulator, Simulator):
        elf = read_elf(program.build_soc().build(feeds))
        simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
        filled = tuple(replace(one, size=len(one.data)) for one in elf.segments if one.data)
        simulator.load(replace(elf, segments=filled))
        simulator.run(SIMULATED_CYCLES)
    return ""


def _between_guards(program: Program, inputs: Sequence[Array]) -> str:
    loaded = program.load()
    made = loaded(*inputs)
    outputs = list(made) if isinstance(made, tuple) else [made]
    guarded = [output.copy() for output in outputs]
    problem = call(loaded, inputs, guarded)
    same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(outputs, guarded, strict=True))
    return problem or ("" if same else "differs between guard pages")
