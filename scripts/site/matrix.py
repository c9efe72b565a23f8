"""Operators, targets and element types, from what the kernels declare."""

from __future__ import annotations

from tilewright import targets
from tilewright.ir.types import COMPUTED, SHORT
from tilewright.ops import all_operators
from tilewright.report import catalogue

HEAD = """\
# Operators, targets and element types

Each cell lists the element types of the first operand for which the target has a kernel. `all`: every type. Empty: the
compiler rewrites the operator into others before kernels are chosen, or folds it into a constant. Targets with equal
columns share one. `tilewright analyze` says what a given model needs.
"""


def page() -> str:
    operators = sorted(all_operators(), key=lambda kind: kind.__name__)
    columns: dict[tuple[str, ...], list[str]] = {}
    for target in map(targets.find, targets.names()):
        column = tuple(_types(catalogue.operator(kind, target)["dtypes"]) for kind in operators)
        columns.setdefault(column, []).append(f"`{target.name}`")
    headings = ["operator", *(" ".join(names) for names in columns.values())]
    rows = zip([f"`{kind.__name__}`" for kind in operators], *columns, strict=True)
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join([HEAD, *(f"| {' | '.join(line)} |" for line in lines), ""])


def _types(dtypes: list[str]) -> str:
    return "all" if set(dtypes) >= COMPUTED else " ".join(SHORT[dtype] for dtype in dtypes)
