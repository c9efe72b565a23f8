"""OR-tools' CP-SAT solver by its interface for C: a model is a message of protocol buffers, and so is its answer.

The interface for Python is slow to start: it imports pandas, which takes twenty times as long as the solver. The
solver is loaded when it is first needed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, InternalError
from tilewright.records import dataclass

PACKAGE = "ortools.sat.python"
CLASHING = "tensorflow"
"""A package that shows its C++ libraries to all others, where the solver would take them for its own and crash."""
LEAST = -(1 << 63)
"""Of sums that have no lower limit."""
FEASIBLE, OPTIMAL, UNKNOWN = "FEASIBLE", "OPTIMAL", "UNKNOWN"

Var = int
"""The number of a variable."""
Term = tuple[int, Var]
"""A factor of a variable."""


@dataclass(frozen=True)
class Answer:
    status: str
    values: Sequence[int]
    """Of the variables, where it is FEASIBLE or OPTIMAL."""
    objective: float
    bound: float

    @property
    def is_found(self) -> bool:
        return self.status in (FEASIBLE, OPTIMAL)


class Model:
    """Variables, what holds for them, and the sum that is to be as small as possible."""

    def __init__(self) -> None:
        from ortools.sat.cp_model_pb2 import CpModelProto

        self.message: Any = CpModelProto()
        self.variables = 0

    def integer(self, low: int, high: int) -> Var:
        self.variables += 1
        self.message.variables.add().domain.extend((low, high))
        return self.variables - 1

    def boolean(self) -> Var:
        return self.integer(0, 1)

    def exactly_one(self, variables: Iterable[Var]) -> None:
        self.message.constraints.add().exactly_one.literals.extend(variables)

    def at_most_one(self, variables: Iterable[Var]) -> None:
        self.message.constraints.add().at_most_one.literals.extend(variables)

    def equal(self, terms: Iterable[Term], value: int) -> None:
        self._sum(terms, value, value)

    def at_most(self, terms: Iterable[Term], most: int) -> None:
        self._sum(terms, LEAST, most)

    def _sum(self, terms: Iterable[Term], low: int, high: int) -> None:
        self.message.constraints.add().linear.domain.extend((low, high))
        _put(self.message.constraints[-1].linear, terms)

    def minimize(self, terms: Iterable[Term]) -> None:
        self.message.objective.scaling_factor = 1
        _put(self.message.objective, terms)

    def solve(self, **parameters: Any) -> Answer:
        """On one thread; interrupts go to whoever handles them, for the solver would leave no handler behind."""
        from ortools.sat.cp_model_pb2 import CpSolverResponse, CpSolverStatus
        from ortools.sat.sat_parameters_pb2 import SatParameters

        asked = SatParameters(num_workers=1, catch_sigint_signal=False, **parameters)
        made = CpSolverResponse.FromString(_solved(self.message.SerializeToString(), asked.SerializeToString()))
        status = CpSolverStatus.Name(made.status)
        return Answer(status, made.solution, made.objective_value, made.best_objective_bound)


def _put(into: Any, terms: Iterable[Term]) -> None:
    """Each variable once, in order."""
    factors: dict[Var, int] = {}
    for factor, variable in terms:
        factors[variable] = factors.get(variable, 0) + factor
    used = sorted(variable for variable, factor in factors.items() if factor)
    into.vars.extend(used)
    into.coeffs.extend(factors[variable] for variable in used)


def _solved(model: bytes, parameters: bytes) -> bytes:
    library, answer, size = _functions(), ctypes.c_void_p(), ctypes.c_int()
    sent = (model, len(model), parameters, len(parameters), ctypes.byref(answer), ctypes.byref(size))
    environment = library.SolveCpNewEnv()
    try:
        _heard(lambda: library.SolveCpInterruptible(environment, *sent), lambda: library.SolveCpStopSearch(environment))
    finally:
        library.SolveCpDestroyEnv(environment)
    if answer.value is None:
        raise InternalError("the solver", "has answered nothing")
    try:
        return ctypes.string_at(answer.value, size.value)
    finally:
        _free()(answer)


def _heard(work: Callable[[], object], stop: Callable[[], object]) -> None:
    """Work of seconds outside Python, on a thread of its own: the main thread hears an interruption while it waits."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    thread = threading.Thread(target=work, name="solver")
    thread.start()
    try:
        thread.join()
    except BaseException:
        stop()
        thread.join()
        raise


@cache
def _functions() -> Any:
    library = ctypes.CDLL(str(_library()), mode=load_flags())
    word, sized = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    library.SolveCpNewEnv.restype = word
    library.SolveCpInterruptible.argtypes = [word, *sized, *sized, ctypes.POINTER(word), ctypes.POINTER(ctypes.c_int)]
    for function in (library.SolveCpInterruptible, library.SolveCpStopSearch, library.SolveCpDestroyEnv):
        function.restype = None
    for function in (library.SolveCpStopSearch, library.SolveCpDestroyEnv):
        function.argtypes = [word]
    return library


@cache
def _free() -> Any:
    """Of the C library that this process has, which the solver allocates with."""
    found = ctypes.CDLL(None).free
    found.argtypes, found.restype = [ctypes.c_void_p], None
    return found


def load_flags() -> int:
    """Its own libraries first, where a package shows others to the whole process."""
    has_flag = CLASHING in sys.modules and hasattr(os, "RTLD_DEEPBIND")
    return os.RTLD_NOW | os.RTLD_DEEPBIND if has_flag else os.RTLD_NOW


def _library() -> Path:
    """A module of the package that is compiled: what it is linked with is found with it."""
    package = find_spec(PACKAGE)
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        for path in sorted(Path(folder).iterdir()):
            if path.name.endswith(tuple(EXTENSION_SUFFIXES)):
                return path
    raise CompileError("ortools", "has no compiled solver", "install it again: pip install --force-reinstall ortools")
