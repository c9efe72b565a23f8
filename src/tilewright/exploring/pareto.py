"""The best points: those that no other one beats in everything that counts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.exploring.columns import column_of
from tilewright.exploring.row import AGREES, Row


def best(rows: Sequence[Row], objectives: Sequence[str]) -> list[bool]:
    """Of each row, whether no other one of its model is as good in all objectives and better in one.

    Only rows that agree and have a figure for every objective are compared.
    """
    figures = [_figures(row, objectives) for row in rows]
    return [
        own is not None
        and not any(
            other is not None and rows[at].model == row.model and _beats(other, own) for at, other in enumerate(figures)
        )
        for row, own in zip(rows, figures, strict=True)
    ]


def _figures(row: Row, objectives: Sequence[str]) -> tuple[float, ...] | None:
    if row.status != AGREES or not all(name in row.metrics for name in objectives):
        return None
    return tuple(-row.metrics[name] if _more_is_better(name) else row.metrics[name] for name in objectives)


def _more_is_better(name: str) -> bool:
    column = column_of(name)
    return column is not None and column.more_is_better


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))
