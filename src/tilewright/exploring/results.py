"""The results of a study: rows as plain data, and as tables for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, unreadable
from tilewright.exploring.columns import column_of, in_order
from tilewright.exploring.pareto import best
from tilewright.exploring.row import STATUSES, Row
from tilewright.exploring.store import Store
from tilewright.records import dataclass
from tilewright.version import VERSION

SCHEMA = "tilewright-study/2"
JSON = "results.json"


@dataclass(frozen=True)
class Results:
    study: str
    folder: str
    axes: tuple[str, ...]
    objectives: tuple[str, ...]
    rows: tuple[Row, ...]
    """In the order of the study."""
    points: int
    """Of the study; where it was interrupted, there are fewer rows."""
    computed: int
    """Rows that were not there before."""
    processes: int
    """That computed at the same time; 0 where workers elsewhere did."""
    seconds: float
    """That all took."""
    busy: float
    """Share of that time in which the processes had a point to compute."""
    version: str = VERSION
    """Of Tilewright."""

    @property
    def title(self) -> str:
        return self.study if "study" in self.study.lower() else f"study {self.study}"

    @property
    def best(self) -> list[bool]:
        return best(self.rows, self.objectives)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by status."""
        found = [row.status for row in self.rows]
        return {status: found.count(status) for status in STATUSES if status in found}

    @property
    def metrics(self) -> list[str]:
        """Columns that a row has, in their order."""
        return in_order({name for row in self.rows for name in row.metrics})

    def as_dict(self) -> dict[str, Any]:
        """docs/explore.md describes it."""
        described = {name: column for name in self.metrics if (column := column_of(name)) is not None}
        return {
            "schema": SCHEMA, "tilewright": self.version, "study": self.study, "folder": self.folder,
            "axes": list(self.axes), "objectives": list(self.objectives), "points": self.points,
            "computed": self.computed, "processes": self.processes, "seconds": self.seconds, "busy": self.busy,
            "counts": self.counts,
            "columns": {name: {"unit": one.unit, "meaning": one.meaning} for name, one in described.items()},
            "rows": [{**row.as_dict(), "best": mark} for row, mark in zip(self.rows, self.best, strict=True)],
        }  # fmt: skip

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Results:
        rows = [{name: value for name, value in row.items() if name != "best"} for row in found["rows"]]
        return Results(
            found["study"], found["folder"], tuple(found["axes"]), tuple(found["objectives"]),
            tuple(map(Row.from_dict, rows)), found["points"], found["computed"], found["processes"], found["seconds"],
            found["busy"], found["tilewright"],
        )  # fmt: skip

    def table(self) -> dict[str, list[Any]]:
        """Columns with a cell for each row; None where there is nothing to say."""
        rows, marks = self.rows, self.best
        found: dict[str, list[Any]] = {"model": [row.model for row in rows], "target": [row.target for row in rows]}
        found |= {axis: [row.settings.get(axis) for row in rows] for axis in self.axes}
        found |= {"status": [row.status for row in rows], "reason": [row.reason for row in rows], "best": marks}
        found |= {name: [row.metrics.get(name) for row in rows] for name in self.metrics}
        return found | {"key": [row.key for row in rows]}


def read_results(path: str | Path) -> Results:
    """What `save_results` wrote: a results.json, or the folder that it is in."""
    place = Path(path) / JSON if Path(path).is_dir() else Path(path)
    hint = "give a results.json that `tilewright explore` wrote"
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        if found["schema"] != SCHEMA:
            raise CompileError(str(place), f"is not {SCHEMA}", hint)
        return Results.from_dict(found)
    except OSError as error:
        raise unreadable(place, error) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise CompileError(str(place), f"is not {SCHEMA}", hint) from None


def save_results(results: Results, store: Store) -> list[Path]:
    """As CSV and JSON, and as Parquet where pyarrow is installed."""
    writers: dict[str, Callable[[Results], bytes | None]] = {
        "results.csv": _csv, JSON: _json, "results.parquet": _parquet,
    }  # fmt: skip
    written = []
    for name, make in writers.items():
        data, place = make(results), store.folder / name
        if data is not None:
            store.write(place, data)
            written.append(place)
    return written


def _csv(results: Results) -> bytes:
    text, table = io.StringIO(), results.table()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def _json(results: Results) -> bytes:
    return json.dumps(results.as_dict(), indent=1, allow_nan=False).encode()


def _parquet(results: Results) -> bytes | None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return None
    sink = pyarrow.BufferOutputStream()
    columns = {name: _column(cells) for name, cells in results.table().items()}
    parquet.write_table(pyarrow.table(columns), sink)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _column(cells: list[Any]) -> list[Any]:
    """Cells of one type: whole numbers, numbers, booleans or texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) <= 1:
        return cells
    kind = float if kinds <= {int, float} else str
    return [None if cell is None else kind(cell) for cell in cells]
