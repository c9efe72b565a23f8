"""Rows: where they are kept, which are the best, and the tables that are made of them."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tilewright.errors import CompileError
from tilewright.exploring.columns import IDENTITY, METRICS, column_of, in_order
from tilewright.exploring.pareto import best
from tilewright.exploring.results import SCHEMA, Results, read_results, save_results
from tilewright.exploring.row import AGREES, DIED, DISAGREES, FAULT, REFUSED, TIMED_OUT, Row
from tilewright.exploring.store import Store

pytestmark = pytest.mark.fast


def row(model: str = "m", status: str = AGREES, key: str = "k", **metrics: float) -> Row:
    return Row(model, "quad", {"cores": 2}, status, key=key, metrics=metrics)


def marked(rows: list[Row], *objectives: str) -> list[bool]:
    return best(rows, objectives)


def test_the_best_points_are_those_that_none_beats() -> None:
    rows = [row(cycles=c, planned_ram_bytes=b) for c, b in ((10, 5), (8, 7), (10, 6), (9, 9), (8, 7), (20, 1))]
    assert marked(rows, "cycles", "planned_ram_bytes") == [True, True, False, False, True, True]


def test_models_are_not_compared_with_each_other() -> None:
    assert marked([row("a", cycles=1), row("b", cycles=5), row("b", cycles=6)], "cycles") == [True, True, False]


def test_what_disagrees_or_has_no_figure_is_never_the_best() -> None:
    assert marked([row(status=DISAGREES, cycles=1), row(planned_ram_bytes=1), row(cycles=9)], "cycles") == [
        False,
        False,
        True,
    ]


def test_of_some_figures_more_is_better() -> None:
    assert marked([row(macs_per_cycle=1.0), row(macs_per_cycle=3.0)], "macs_per_cycle") == [False, True]


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    store, kept = Store.at(tmp_path / "a" / "b"), row(cycles=3, energy_uj=0.25)
    store.keep(kept)
    assert store.take("k", 1.0) == kept
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["points"]


@pytest.mark.parametrize("status", [AGREES, DISAGREES, REFUSED])
def test_what_would_be_the_same_again_is_taken(tmp_path: Path, status: str) -> None:
    store = Store.at(tmp_path)
    store.keep(row(status=status))
    assert store.take("k", 1.0) is not None


@pytest.mark.parametrize("status", [DIED, FAULT, TIMED_OUT])
def test_what_might_be_another_is_computed_again(tmp_path: Path, status: str) -> None:
    store = Store.at(tmp_path)
    store.keep(row(status=status, seconds=5.0))
    assert store.take("k", 9.0) is None


def test_a_point_that_took_too_long_is_not_tried_again_in_less_time(tmp_path: Path) -> None:
    store = Store.at(tmp_path)
    store.keep(row(status=TIMED_OUT, seconds=5.0))
    assert store.take("k", 5.0) is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": 3}', json.dumps({**row().as_dict(), "key": "other"})])
def test_a_damaged_row_is_computed_again(tmp_path: Path, text: str) -> None:
    store = Store.at(tmp_path)
    (tmp_path / "points" / "k.json").write_text(text)
    assert store.take("k", 1.0) is None


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.at(tmp_path)
    store.keep(row(cycles=1))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CompileError, match="No space left on device"):
        store.keep(row(cycles=2))
    found = store.take("k", 1.0)
    assert found is not None
    assert found.metrics["cycles"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["points"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError, match="cannot be written"):
        Store.at(tmp_path / "file" / "study")


def results(tmp_path: Path) -> Results:
    rows = (
        row("a", cycles=5, planned_ram_bytes=2, seconds=1.5),
        row("a", key="l", cycles=6, planned_ram_bytes=3, energy_uj=0.5),
        Row("a", "quad", {"cores": 4}, REFUSED, 'where: "what", \n and more', "a hint", key="n"),
    )
    return Results("s", str(tmp_path), ("cores", "l1"), ("cycles", "planned_ram_bytes"), rows, 3, 3, 2, 4.0, 0.5)


def test_tables_for_other_programs(tmp_path: Path) -> None:
    found = results(tmp_path)
    written = save_results(found, Store.at(tmp_path))
    with (tmp_path / "results.csv").open(newline="") as opened:
        table = list(csv.DictReader(opened))
    assert [line["cycles"] for line in table] == ["5", "6", ""]
    assert [line["best"] for line in table] == ["True", "False", "False"]
    assert table[2]["reason"] == found.rows[2].reason
    assert list(table[0])[:3] == ["model", "target", "cores"]
    plain: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    assert plain == json.loads(json.dumps(found.as_dict()))
    assert plain["schema"] == SCHEMA
    assert plain["counts"] == {"agrees": 2, "refused": 1}
    assert plain["columns"]["cycles"]["unit"] == "cycles"
    assert {path.name for path in written} >= {"results.csv", "results.json"}


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    found = results(tmp_path)
    save_results(found, Store.at(tmp_path))
    assert read_results(tmp_path) == read_results(tmp_path / "results.json") == found
    for text in ("", "[]", '{"schema": "another"}', "[" * 100_000):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(CompileError, match="is not tilewright-study/2"):
            read_results(tmp_path / "other.json")
    with pytest.raises(CompileError, match="cannot be read"):
        read_results(tmp_path / "none.json")


def test_parquet_where_it_can_be_written(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = results(tmp_path)
    save_results(found, Store.at(tmp_path))
    assert parquet.read_table(tmp_path / "results.parquet").to_pydict() == found.table()


def test_columns_have_an_order_and_families() -> None:
    assert in_order({"seconds", "traffic.b", "cycles", "traffic.a"}) == ["cycles", "traffic.a", "traffic.b", "seconds"]
    assert column_of("bytes.L1") is column_of("bytes.L2")
    assert column_of("cycle") is column_of("cycle.L1") is None


def test_every_column_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explore.md").read_text()
    listed = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    assert {column.name for column in (*IDENTITY, *METRICS)} <= listed
