"""The node tests that ship with the onnx package: each is compiled, run and compared, or refused."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import base
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.reference.ops import op_pool_common

from tilewright import pipeline
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError
from tilewright.ir.types import Array, as_computed
from tilewright.run.compare import LAST_BIT
from tilewright.run.host import TOGETHER, HostNetwork, HostPrograms

IN_WORKER = "PYTEST_XDIST_WORKER"
"""Known where pytest has a process for each core: more of them would only import everything once more."""
LARGE = 50_000
"""Elements."""
RELATIVE, ABSOLUTE = 1e-3, 1e-5
"""The tolerances that onnx's own runner uses (it allows 1e-7 absolute; kernels in float32 need a little more)."""


@dataclass(frozen=True)
class Outcome:
    name: str
    status: str
    """passed, refused or wrong."""
    detail: str = ""


@dataclass(frozen=True)
class Made:
    case: TestCase
    compiled: pipeline.Compiled
    network: HostNetwork

    @staticmethod
    def of(case: TestCase, prefix: str, target: str) -> Made:
        compiled = pipeline.compile_graph(pipeline.import_model(case.model), target, prefix)
        return Made(case, compiled, HostNetwork(compiled.schedule, compiled.files, Writer(compiled.schedule, prefix)))


def run_all(workers: int, cases: Sequence[TestCase], target: str = "generic") -> Iterator[Outcome]:
    """Targets whose C runs on this machine: generic, cpu and gpu."""
    run = partial(run_group, target=target)
    groups = [cases[first : first + TOGETHER] for first in range(0, len(cases), TOGETHER)]
    if IN_WORKER in os.environ:
        yield from chain.from_iterable(map(run, groups))
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from chain.from_iterable(pool.map(run, groups))


def run_group(cases: Sequence[TestCase], target: str) -> list[Outcome]:
    """All that are not refused in one program; where it cannot be built, one by one, to know whose fault it is."""
    outcomes, made = [], list[Made]()
    for case in cases:
        try:
            made.append(Made.of(case, f"node_{len(made)}", target))
        except CompileError as error:
            outcomes.append(Outcome(case.name, "refused", str(error)))
        except Exception as error:
            outcomes.append(_wrong(case.name, error))
    return outcomes + (_run(made) if made else [])


def _run(made: Sequence[Made]) -> list[Outcome]:
    try:
        program = HostPrograms([each.network for each in made])
    except Exception as error:
        if len(made) == 1:
            return [_wrong(made[0].case.name, error)]
        return [outcome for each in made for outcome in _run([each])]
    return [_compare(program, number, each) for number, each in enumerate(made)]


def _wrong(name: str, error: Exception) -> Outcome:
    return Outcome(name, "wrong", f"{type(error).__name__}: {error}")


@cache
def node_tests() -> list[TestCase]:
    """All of them; making them takes seconds, so workers are sent theirs."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(base, "process_snippet", lambda op, name, export: (name, ""))  # for onnx's manual
        patch.setattr(op_pool_common, "pool", partial(_pool, op_pool_common.pool))
        return list(load_model_tests(kind="node"))


@cache
def parts(count: int) -> list[list[TestCase]]:
    """The tests of each operator, dealt out in turn."""
    dealt, seen = [list[TestCase]() for _ in range(count)], Counter[str]()
    for case in node_tests():
        operator = case.model.graph.node[0].op_type
        dealt[seen[operator] % count].append(case)
        seen[operator] += 1
    return dealt


def _pool(
    slowly: Callable[..., Array],
    padded: Array,
    x_shape: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    out_shape: Sequence[int],
    kind: str,
    *more: object,
    p: int = 1,
    **options: object,
) -> Array:
    """What onnx expects of a pooling. It takes seconds for large tensors, of which none has borders or gaps."""
    if np.prod(padded.shape) < LARGE or more or options or set(strides) != {1}:
        given = {"p": p, **options} if kind == "LPPOOL" else options
        return slowly(padded, x_shape, kernel, strides, out_shape, kind, *more, **given)
    windows = sliding_window_view(padded, kernel, tuple(range(2, padded.ndim)))
    axes = tuple(range(padded.ndim, windows.ndim))
    pooled = {"AVG": np.mean, "MAX": np.max, "LPPOOL": lambda x, axes: np.sum(np.abs(x) ** p, axes) ** (1 / p)}
    return np.asarray(pooled[kind](windows, axes), padded.dtype)


def _compare(program: HostPrograms, number: int, made: Made) -> Outcome:
    graph, outputs = made.compiled.graph, made.compiled.schedule.graph.outputs
    for inputs, wanted in made.case.data_sets:
        try:
            ran = program.run(dict(zip(graph.inputs, map(array_of, inputs), strict=True)), number=number).outputs
        except Exception as error:
            return _wrong(made.case.name, error)
        problem = problem_of([ran[name] for name in outputs], [array_of(value) for value in wanted], made.case.rtol)
        if problem:
            return Outcome(made.case.name, "wrong", problem)
    return Outcome(made.case.name, "passed")


def problem_of(found: Sequence[Array], wanted: Sequence[Array], case_relative: float) -> str:
    """The first output that is not as wanted; nothing where all are. Behind those of the case stand counts of results
    that data gives their length."""
    counts = [int(array[0]) for array in found[len(wanted) :]]
    for position, (array, value) in enumerate(zip(found, wanted, strict=False)):
        if problem := difference(_as_many(array, value, counts), value, case_relative):
            return f"output {position}: {problem}"
    return ""


def _as_many(found: Array, wanted: Array, counts: Sequence[int]) -> Array:
    """A result without the room behind as many as its count says there are."""
    if found.shape == wanted.shape or found.ndim != wanted.ndim or not counts:
        return found
    axis = next(at for at, sizes in enumerate(zip(found.shape, wanted.shape, strict=True)) if sizes[0] != sizes[1])
    return np.take(found, range(counts[0]), axis)


def array_of(value: object) -> Array:
    """Some cases hold their values as they would stand in a file."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def difference(found: Array, wanted: Array, case_relative: float) -> str:
    if found.shape != wanted.shape:
        return f"shape {found.shape}, wanted {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype}, wanted {wanted.dtype}"
    # onnx's expectations of short floats are rounded at every step, ours once.
    relative = max(RELATIVE, case_relative, 2 * LAST_BIT.get(wanted.dtype.name, 0.0))
    found, wanted = as_computed(found), as_computed(wanted)
    if wanted.dtype.kind != "f":
        return "" if np.array_equal(found, wanted) else f"{np.sum(found != wanted)} elements differ"
    if np.allclose(found, wanted, relative, ABSOLUTE, equal_nan=True):
        return ""
    return f"largest difference {np.nanmax(np.abs(found - wanted)):g}"
