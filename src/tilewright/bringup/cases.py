"""Random jobs of every pattern that a unit declares, as its engine takes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from tilewright.accelerator.accepting import switched_off, unsupported_reason
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.kernels import Driver
from tilewright.accelerator.offers import offer_of
from tilewright.accelerator.samples import Sample, sample, without_samples
from tilewright.accelerator.unit import Unit
from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, type_of
from tilewright.records import dataclass
from tilewright.run.kernel_bench import Case
from tilewright.target.kernel import Kernel

TRIES = 60
"""Random layers for each one that a pattern takes."""
SMALL_PROGRAM = 5_000_000
"""Cycles in which everything around a job is long done."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A job, and what it is an instance of."""

    driver: Driver
    case: Case


def random_cases(unit: Unit, kernels: dict[str, Kernel], waits: bool, jobs: int, seed: int) -> list[Tried]:
    """As many of every pattern, for drivers that wait for the device or not; a pattern that takes no layer is an error,
    with the reason that most had."""
    found: list[Tried] = []
    for form in unit.forms():
        driver = Driver(unit, form, waits)
        kernel = next((one for stem, one in kernels.items() if stem == driver.stem), None)
        if kernel is None or why_untried(form):
            continue
        found += _cases_of(unit, driver, kernel, jobs, np.random.default_rng(seed))
    return found


def why_untried(form: Declared) -> str:
    """Of a pattern that no random layers are made for; empty where they are."""
    if without := without_samples(form.pattern):
        return f"there are no random layers of {without}: try a network that has one"
    return switched_off(form)


def _cases_of(unit: Unit, driver: Driver, kernel: Kernel, jobs: int, random: np.random.Generator) -> list[Tried]:
    found: list[Tried] = []
    reasons: Counter[str] = Counter()
    for _ in range(jobs * TRIES):
        form = driver.form
        try:
            made = _offered(unit, form, sample(random, form.pattern, form.gives_totals))
            found.append(_tried(driver, Case(kernel, *made)))
        except Refusal as refusal:
            reasons[refusal.what] += 1
        if len(found) == jobs:
            return found
    if not found:
        why, count = reasons.most_common(1)[0]
        raise CompileError(
            f"accelerator {unit.name}, pattern '{driver.form.pattern.name}'",
            f"takes none of {jobs * TRIES} random layers; of {count} it says: {why}",
            "check its conditions and types",
        )  # fmt: skip
    return found


def _tried(driver: Driver, case: Case) -> Tried:
    """A device that takes a hundred times as long as declared does not end."""
    declared = driver.form.cycles(case.op, case.types)
    return Tried(driver, replace(case, limit=SMALL_PROGRAM + int(100 * declared)))


def _offered(unit: Unit, form: Declared, made: Sample) -> tuple[Op, list[Array | None]]:
    """As the engine makes it, with constants in its form."""
    graph, arrays = _graph(made)
    offer = offer_of(unit)(graph, graph.nodes[0])
    arrays |= dict(offer.constants)
    operands: list[Array | None] = [arrays[name] if name else None for name in offer.inputs]
    found = Sample(offer.op, tuple(operands))
    if (why := unsupported_reason(form, found.op, found.types)) is not None:
        raise Refusal(why)
    return offer.op, operands


def _graph(made: Sample) -> tuple[Graph, dict[str, Array]]:
    """One node; its first operand is an input."""
    builder = Builder("job")
    names: list[str] = []
    for position, array in enumerate(made.arrays):
        if array is None:
            names.append("")
        elif position == 0:
            names.append(builder.input("x", type_of(array)))
        else:
            names.append(builder.constant(array, f"operand{position}"))
    (result, *_) = builder.add(made.op, names)
    builder.output(result)
    arrays = {name: array for name, array in zip(names, made.arrays, strict=True) if array is not None}
    return builder.build(), arrays
