"""Operators that tests compute by their definition in numpy, run on every target too: compiled, simulated or emulated,
and compared. `scripts/record` calls it after the tests, which leave examples of the operators in a folder.

    python -m tests.support.everywhere FOLDER [TARGET ...]
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tilewright import pipeline, targets
from tilewright.ir import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, dtype_name, type_of
from tilewright.program import Program
from tilewright.target.settings import DEFAULT, Settings

LARGEST = 30_000
"""Bytes of an example's operands: it is to fit a microcontroller with others."""
TOGETHER = 12
"""Examples in one program."""
SUFFIX = ".examples"
OPERANDS = "operands of "
"""Before the test that an operator's operands come from, where the test itself runs it on other targets."""
NODE_TESTS = "tests/e2e/test_onnx_nodes.py::test_node_tests_of_onnx"
TOLERANCE = 1e-4


class Example(NamedTuple):
    op: Op
    arrays: list[Array | None]
    test: str

    @property
    def dtype(self) -> str:
        return next(dtype_name(array.dtype) for array in self.arrays if array is not None)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays if array is not None)


Key = tuple[str, str]
"""An operator and the element type of its first operand."""


@dataclass
class Examples:
    """The smallest of each operator and element type that has more than one element."""

    found: dict[Key, Example] = field(default_factory=dict)
    pending: list[tuple[Op, list[Array | None]]] = field(default_factory=list)

    def watch(self) -> None:
        """Whatever the reference computes from now on."""
        original: Callable[..., Any] = evaluate.compute

        @wraps(original)
        def compute(op: Op, operands: Sequence[Array | None]) -> Any:
            results = original(op, operands)
            first = next((one for one in operands if one is not None), None)
            if first is not None and 0 < sum(one.nbytes for one in operands if one is not None) <= LARGEST:
                self.pending.append((op, list(operands)))
            return results

        evaluate.compute = compute

    def settle(self, test: str, passed: bool) -> None:
        """What a test has computed counts if it passed."""
        for op, arrays in self.pending if passed else ():
            self.add(Example(op, arrays, test))
        self.pending.clear()

    def add(self, one: Example) -> None:
        key = (type(one.op).__name__, one.dtype)
        if key not in self.found or _rank(one) < _rank(self.found[key]):
            self.found[key] = one

    def save(self, path: Path) -> None:
        path.with_suffix(SUFFIX).write_bytes(pickle.dumps(list(self.found.values())))


def _rank(one: Example) -> tuple[bool, int]:
    """An example with a single element shows little."""
    return one.bytes < 64, one.bytes


def load(folder: Path) -> Examples:
    """All that the processes of a run have left."""
    joined = Examples()
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        for one in pickle.loads(path.read_bytes()):
            joined.add(one)
    return joined


def of_node_tests() -> Examples:
    """What onnx's own tests of operators give the operators that they become."""
    from tests.e2e.onnx_nodes import array_of, parts

    found, count = Examples(), 8
    found.watch()
    for part, cases in enumerate(parts(count)):
        for case in cases:
            try:
                graph = pipeline.import_model(case.model)
                for inputs, _ in case.data_sets:
                    evaluate.evaluate(graph, dict(zip(graph.inputs, map(array_of, inputs), strict=True)))
                found.settle(f"{NODE_TESTS}[{part}]", True)
            except Exception:
                # Refused, or a case of the tests that a test of ours is about.
                found.settle("", False)
    return found


# ---- on a target -------------------------------------------------------------------------------------------------


@dataclass
class Sweep:
    target: str
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Operator, target, element type, test: of what agreed."""
    failures: list[str] = field(default_factory=list)

    def run(self, examples: Sequence[Example]) -> None:
        for first in range(0, len(examples), TOGETHER):
            self._run_together(examples[first : first + TOGETHER])

    def _run_together(self, examples: Sequence[Example]) -> None:
        """Where that fails, in halves."""
        try:
            program = self._agrees(examples)
        except Exception as error:
            if len(examples) == 1:
                said = str(error).splitlines()[0] if str(error) else type(error).__name__
                self.failures.append(f"{type(examples[0].op).__name__} of {examples[0].dtype}: {said}")
                return
            for half in (examples[: len(examples) // 2], examples[len(examples) // 2 :]):
                self._run_together(half)
            return
        self.rows += _rows(program, self.target, examples)

    def _agrees(self, examples: Sequence[Example]) -> Program:
        graph, feeds = graph_of(examples)
        settings = Settings(time_limit=1.0) if targets.find(self.target).agents.has_runtime else DEFAULT
        compiled = pipeline.Compiled(*pipeline.stages(graph, self.target, settings=settings))
        program = Program(compiled, "", None, 0.0, settings=settings)
        check = program.check(feeds, tolerance=TOLERANCE)
        if check.first_difference is not None or not check.agrees:
            raise ValueError(f"differs: {check.first_difference}")
        return program


def graph_of(examples: Sequence[Example]) -> tuple[Graph, dict[str, Array]]:
    """Each by itself, with operands from outside."""
    builder, feeds = Builder("everywhere"), dict[str, Array]()
    for number, one in enumerate(examples):
        names = [f"case{number}_x{at}" if array is not None else "" for at, array in enumerate(one.arrays)]
        for name, array in zip(names, one.arrays, strict=True):
            if array is not None:
                feeds[builder.input(name, type_of(array))] = np.array(array, order="C")
        for tensor in builder.add(one.op, names, name=f"case{number}"):
            builder.output(tensor)
    return builder.build(), feeds


def _rows(program: Program, target: str, examples: Sequence[Example]) -> Iterator[tuple[str, str, str, str]]:
    """What the operators have become on the target is what ran there."""
    graph = program.compiled.schedule.graph
    for node in graph.nodes:
        number = node.name.removeprefix("case").partition(".")[0].partition("_")[0]
        if node.inputs and node.inputs[0] and number.isdigit():
            dtype = graph.types[node.inputs[0]].dtype
            yield type(node.op).__name__, target, dtype, f"{OPERANDS}{examples[int(number)].test}"


def main(folder: Path, wanted: Sequence[str], *more: Example) -> None:
    warnings.simplefilter("ignore")
    joined = load(folder)
    for one in more:
        joined.add(one)
    examples = sorted(joined.found.values(), key=lambda one: (type(one.op).__name__, one.dtype))
    print(f"{len(examples)} examples of {len({type(one.op) for one in examples})} operators")
    for target in wanted or targets.names():
        sweep = Sweep(target)
        sweep.run(examples)
        (folder / f"everywhere_{target}.json").write_text(json.dumps(sorted(set(sweep.rows))), encoding="utf-8")
        print(f"{target}: {len({row[0] for row in sweep.rows})} operators ran and agree", flush=True)
        for failure in sweep.failures:
            print(f"  {failure}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:], *of_node_tests().found.values())
