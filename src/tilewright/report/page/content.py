"""What a page shows, as data: charts, drawings and tables, with what was run in front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.records import dataclass

Figure = Mapping[str, Any]
"""`data` and `layout` as Plotly has them."""


@dataclass(frozen=True)
class Span:
    """A part of a chart's horizontal axis that a reader may want to see alone."""

    label: str
    start: float
    end: float


@dataclass(frozen=True)
class Chart:
    name: str
    """In the page's links."""
    title: str
    caption: str
    """How to read it."""
    choices: Mapping[str, Figure]
    """By what a list to choose from says; one of them is shown, the first at the beginning."""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """An image that needs no library."""

    name: str
    title: str
    caption: str
    svg: str
    legend: Mapping[str, str]
    """Colours by what they stand for."""


@dataclass(frozen=True)
class Cell:
    text: str
    value: float | None = None
    """What numbers are sorted by."""


@dataclass(frozen=True)
class Column:
    heading: str
    meaning: str = ""
    is_number: bool = False
    is_detail: bool = False
    """Whether it is shown only where all columns are asked for."""


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


Section = Chart | Drawing | Table


@dataclass(frozen=True)
class Total:
    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Page:
    title: str
    facts: Mapping[str, str]
    """What was run."""
    totals: tuple[Total, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
