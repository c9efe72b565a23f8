"""Operators, targets and element types: what the kernels declare, and what tests have run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scripts.site.recorded import OPERATORS

from tilewright import targets
from tilewright.ir.types import SHORT
from tilewright.ops import all_operators
from tilewright.report import catalogue

HEAD = """\
# Operators, targets and element types

Each cell lists element types of the first operand. A type stands alone where the operator was run with it on the
target (or in its simulator or emulator) and agreed with its definition: by a test, or on operands of a test. A type in
parentheses is accepted: the target has a kernel for it, but it was not run there, only the same C on other targets or
nothing. Empty: the compiler rewrites the operator into others before kernels are chosen, or folds it into a constant.
`tilewright analyze` says what a given model needs. `scripts/record` writes down what runs.

"""


def page() -> str:
    operators = sorted(all_operators(), key=lambda kind: kind.__name__)
    recorded, columns = OPERATORS.read(), dict[tuple[str, ...], list[str]]()
    for target in map(targets.find, targets.names()):
        column = tuple(
            cell(catalogue.operator(kind, target)["dtypes"], tested(recorded, kind.__name__, target.name))
            for kind in operators
        )
        columns.setdefault(column, []).append(f"`{target.name}`")
    headings = ["operator", *(" ".join(names) for names in columns.values())]
    rows = zip([f"`{kind.__name__}`" for kind in operators], *columns, strict=True)
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join([HEAD + summary(columns), *(f"| {' | '.join(line)} |" for line in lines), ""])


def tested(recorded: Mapping[str, Any], operator: str, target: str) -> frozenset[str]:
    return frozenset(recorded.get(operator, {}).get(target, ()))


def cell(accepted: Sequence[str], seen: frozenset[str]) -> str:
    """What ran first, then what is accepted besides."""
    ran = [SHORT[dtype] for dtype in SHORT if dtype in seen]
    others = [SHORT[dtype] for dtype in accepted if dtype not in seen]
    return " ".join([*ran, *([f"({' '.join(others)})"] if others else [])])


def summary(columns: Mapping[tuple[str, ...], Sequence[str]]) -> str:
    """How much of what is accepted was run."""
    cells = [one for column, names in columns.items() for one in column * len(names) if one]
    ran = sum(not one.startswith("(") for one in cells)
    return f"{ran} of the {len(cells)} pairs of an operator and a target below were run and agree.\n"
