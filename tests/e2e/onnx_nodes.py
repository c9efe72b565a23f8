"""The node tests that ship with the onnx package: each is compiled, run and compared, or refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context

import numpy as np
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from tilewright import pipeline
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.run.host import HostProgram

RELATIVE, ABSOLUTE = 1e-3, 1e-5
"""The tolerances that onnx's own runner uses (it allows 1e-7 absolute; kernels in float32 need a little more)."""


@dataclass(frozen=True)
class Outcome:
    name: str
    status: str
    """passed, refused or wrong."""
    detail: str = ""


def run_all(workers: int) -> Iterator[Outcome]:
    names = list(_cases())
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        yield from pool.map(run_one, names, chunksize=8)


def run_one(name: str) -> Outcome:
    try:
        return _compare(_cases()[name])
    except CompileError as error:
        return Outcome(name, "refused", str(error))
    except Exception as error:
        return Outcome(name, "wrong", f"{type(error).__name__}: {error}")


@cache
def _cases() -> dict[str, TestCase]:
    """All node tests; making them takes seconds, so that workers inherit them by fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def _compare(case: TestCase) -> Outcome:
    graph = pipeline.import_model(case.model)
    compiled = pipeline.compile_graph(graph, "generic")
    writer = Writer(compiled.schedule, symbol_prefix(graph.name))
    program = HostProgram(compiled.schedule, compiled.files, writer, None, False)
    for inputs, wanted in case.data_sets:
        ran = program.run(dict(zip(graph.inputs, map(np.asarray, inputs), strict=True))).outputs
        for number, (tensor, value) in enumerate(zip(compiled.schedule.graph.outputs, wanted, strict=True)):
            if problem := _difference(ran[tensor], np.asarray(value)):
                return Outcome(case.name, "wrong", f"output {number}: {problem}")
    return Outcome(case.name, "passed")


def _difference(found: Array, wanted: Array) -> str:
    if found.shape != wanted.shape:
        return f"shape {found.shape}, wanted {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype}, wanted {wanted.dtype}"
    if wanted.dtype.kind != "f":
        return "" if np.array_equal(found, wanted) else f"{np.sum(found != wanted)} elements differ"
    if np.allclose(found, wanted, RELATIVE, ABSOLUTE, equal_nan=True):
        return ""
    return f"largest difference {np.nanmax(np.abs(found - wanted)):g}"
