"""onnx's node tests on targets that are simulated or emulated: dozens of them are one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.differential.limited import Ended, limited
from benchmarks.differential.merging import merged, prefix
from onnx.backend.test.case.test_case import TestCase
from tests.e2e.onnx_nodes import Outcome, array_of, problem_of

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.target.settings import Settings

SECONDS, SECONDS_EACH = 20, 3
"""Of the processor, for a program and for each of its tests."""
LARGEST = 200_000
"""Elements of a test: pictures of a million take the simulators minutes."""


@dataclass(frozen=True)
class Place:
    target: str
    settings: Settings


@dataclass(frozen=True)
class Imported:
    case: TestCase
    graph: Graph

    def feeds(self, turn: int) -> dict[str, Array]:
        inputs, _ = self._data(turn)
        return dict(zip(self.graph.inputs, map(array_of, inputs), strict=True))

    def wanted(self, turn: int) -> list[Array]:
        return [array_of(value) for value in self._data(turn)[1]]

    def _data(self, turn: int) -> tuple[Sequence[object], Sequence[object]]:
        """Programs are run as often as the test with most data needs."""
        sets = self.case.data_sets
        return sets[min(turn, len(sets) - 1)]


def outcomes(cases: Sequence[TestCase], place: Place) -> list[Outcome]:
    found, sound = list[Outcome](), list[Imported]()
    for case in cases:
        one = _imported(case)
        if isinstance(one, Imported):
            sound.append(one)
        else:
            found.append(one)
    return [*found, *_together(sound, place)]


def _imported(case: TestCase) -> Imported | Outcome:
    try:
        one = Imported(case, pipeline.import_model(case.model))
        size = sum(value.size for value in (*one.feeds(0).values(), *one.wanted(0)))
    except CompileError as error:
        return Outcome(case.name, "refused", str(error))
    except Exception as error:
        return Outcome(case.name, "wrong", f"{type(error).__name__}: {error}")
    return one if size <= LARGEST else Outcome(case.name, "left out", f"{size} elements")


def _together(tests: Sequence[Imported], place: Place) -> list[Outcome]:
    """Where a program of several fails, its halves are tried, to find the one that is at fault."""
    if not tests:
        return []
    try:
        found: list[Outcome] = limited(partial(_ran, tests, place), SECONDS + SECONDS_EACH * len(tests))
    except Ended as ended:
        found = [Outcome(tests[0].case.name, "wrong", str(ended))]
    if len(tests) == 1 or len(found) == len(tests):
        return found
    middle = len(tests) // 2
    return [*_together(tests[:middle], place), *_together(tests[middle:], place)]


def _ran(tests: Sequence[Imported], place: Place) -> list[Outcome]:
    """One outcome for each; a single one where the program is refused or fails."""
    try:
        graph = merged([one.graph for one in tests])
        compiled = Compiled(*pipeline.stages(graph, place.target, "", place.settings))
        run = partial(_run, tests, Program(compiled, "", None, 0.0, None, place.settings))
        problems = [run(turn) for turn in range(max(len(one.case.data_sets) for one in tests))]
    except CompileError as error:
        return [Outcome(tests[0].case.name, "refused", str(error))]
    except Exception as error:
        return [Outcome(tests[0].case.name, "wrong", f"{type(error).__name__}: {error}")]
    return [_outcome(one, texts) for one, *texts in zip(tests, *problems, strict=True)]


def _outcome(one: Imported, texts: Sequence[str]) -> Outcome:
    problem = next(filter(None, texts), "")
    return Outcome(one.case.name, "wrong" if problem else "passed", problem)


def _run(tests: Sequence[Imported], program: Program, turn: int) -> list[str]:
    """What is wrong with each; nothing where all is well."""
    feeds = {prefix(at) + name: value for at, one in enumerate(tests) for name, value in one.feeds(turn).items()}
    outputs = program.run(feeds).outputs
    found = [[outputs[prefix(at) + name] for name in one.graph.output_names] for at, one in enumerate(tests)]
    return [problem_of(arrays, one.wanted(turn), one.case.rtol) for arrays, one in zip(found, tests, strict=True)]
