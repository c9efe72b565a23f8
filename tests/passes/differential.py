"""Graphs before and after a pass, held to what the pass states of its numbers. Shared by tests."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import tilewright
from tilewright import passes
from tilewright.ir.evaluate import evaluate
from tilewright.ir.exact import sums_in_double
from tilewright.ir.graph import Graph
from tilewright.passes import Pass
from tilewright.run.as_imported import Definition
from tilewright.run.compare import compare, rounding_steps
from tilewright.run.model_inputs import made_up_inputs
from tilewright.run.steps import reference_steps

TOLERANCE = 1e-5
"""Of floats, whose sums are taken in double: each operator rounds once."""
MOST_BYTES = 2**24
"""Larger graphs are not evaluated: corpora are small."""
VELA = "ethosu"
NEEDED = {"parts for an Ethos-U": VELA}
"""Passes that another package does the work of: where it is not installed, no graph can be tried."""


@dataclass
class Applied:
    """The passes that have changed a graph, and what they have changed beyond what they state."""

    changed: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def see(self, step: Pass, before: Graph, after: Graph) -> None:
        if is_same(before, after) or sum(kind.bytes for kind in before.types.values()) > MOST_BYTES:
            return
        self.changed[step.name] = self.changed.get(step.name, 0) + 1
        self.wrong += [f"pass '{step.name}': {text}" for text in differences(step, before, after)]


def is_same(before: Graph, after: Graph) -> bool:
    return after is before or (str(after) == str(before) and after.constants.keys() == before.constants.keys())


@contextmanager
def watched() -> Iterator[Applied]:
    """All passes that are applied, whoever applies them."""
    original, found = passes._applied, Applied()

    def applied(step: Pass, graph: Graph) -> Graph:
        made = original(step, graph)
        found.see(step, graph, made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_applied", applied)
        yield found


def differences(step: Pass, before: Graph, after: Graph, seed: int = 0) -> Iterator[str]:
    """What has become of the outputs of a graph that the pass does not state; of two calls where it has states."""
    if not step.numbers.is_bounded:
        return
    calls = [made_up_inputs(before, seed + number) for number in range(2 if before.states else 1)]
    with sums_in_double():
        if step.numbers != passes.SAME:
            held = Definition(before, after, (step.numbers,), TOLERANCE).held(evaluate(after, calls[0]))
            yield from (f"{one.tensor}: {one.agreement.remark}" for one in held if not one.agrees)
            return
        found, wanted = reference_steps(after, calls), reference_steps(before, calls)
    steps = before.outputs_by_name(rounding_steps(before))
    for name in before.output_names:
        one = compare(name, found[name], wanted[name], TOLERANCE, steps.get(name, 0.0))
        if not one.agrees:
            yield f"{name}: {one.mismatches} of {one.elements} elements differ by up to {one.max_abs_error:g}"


@cache
def pass_names() -> frozenset[str]:
    """Of all passes in the sources: those that are written out, and those that modules have."""
    texts = (path.read_text(encoding="utf-8") for path in Path(tilewright.__file__).parent.rglob("*.py"))
    written = {name for text in texts if "Pass(" in text for name in _written(text)}
    return frozenset(written | {step.name for step in instances()})


def _written(text: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Pass" and call.args:
            name = call.args[0]
            if isinstance(name, ast.Constant):
                yield str(name.value)
            elif isinstance(name, ast.JoinedStr) and isinstance(name.values[0], ast.Constant):
                yield str(name.values[0].value)


def instances() -> Iterator[Pass]:
    """The passes that modules with passes hold under a name."""
    for info in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        if ".passes" in info.name or ".targets" in info.name or ".quantiser.prepare" in info.name:
            for value in vars(importlib.import_module(info.name)).values():
                yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Pass))


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def is_covered(name: str, changed: Iterable[str]) -> bool:
    """Names that are made up at run time begin like the text in the source. Nothing is missing where nothing can be
    tried."""
    if name in NEEDED and not is_installed(NEEDED[name]):
        return True
    return any(one == name or (name.endswith(" ") and one.startswith(name)) for one in changed)
