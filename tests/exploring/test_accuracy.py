"""Accuracy of labelled inputs: counted by the reference, refused where the file is not right, and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import CompileError
from tilewright.exploring.accuracy import accuracy_of
from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program
from tilewright.report.page.accuracy import accuracy_chart


def program() -> Program:
    """Adds 10 to the second of three numbers."""
    builder = Builder("second")
    x = builder.input("x", TensorType("int32", (1, 3)))
    builder.output(builder.add(Add(), [x, builder.constant(np.array([0, 10, 0], np.int32))])[0])
    return Program(Compiled(*stages(builder.build(), "generic", "net")), "net", None, 0.0)


def saved(place: Path, **arrays: object) -> str:
    np.savez(place / "labelled.npz", **arrays)  # type: ignore[arg-type]
    return str(place / "labelled.npz")


def test_the_largest_output_is_the_class(tmp_path: Path) -> None:
    inputs = np.array([[[1, 2, 3]], [[50, 2, 3]], [[1, 2, 30]], [[20, 5, 1]]], np.int32)
    assert accuracy_of(program(), saved(tmp_path, x=inputs, labels=np.array([1, 0, 2, 1]))) == 0.75


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": np.zeros((4, 1, 3))}, "has x"),
        ({"x": np.zeros((4, 1, 3)), "labels": np.zeros(3)}, "labels"),
        ({"x": np.zeros((4, 5)), "labels": np.zeros(4)}, "an input has 5 elements, the model takes 3"),
    ],
    ids=["no labels", "too few", "other size"],
)
def test_wrong_files(tmp_path: Path, arrays: dict[str, object], said: str) -> None:
    with pytest.raises(CompileError, match=said):
        accuracy_of(program(), saved(tmp_path, **arrays))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no numbers")
    with pytest.raises(CompileError, match="cannot be read"):
        accuracy_of(program(), str(tmp_path / "text.npz"))


@pytest.mark.fast
def test_the_chart_has_means_over_seeds() -> None:
    settings = [{"parameter.noise": noise, "parameter.seed": seed} for noise in (0, 0.5) for seed in (0, 1, 2)]
    found = [0.9 - one["parameter.noise"] + one["parameter.seed"] / 50 for one in settings]
    rows = [
        Row("cnn", "rv32", own, AGREES, "", "", {"accuracy": value}) for own, value in zip(settings, found, strict=True)
    ]
    axes = ("parameter.noise", "parameter.seed")
    results = Results("s", "s_study", axes, ("cycles",), tuple(rows), 6, 6, 1, 1.0, 0.1)
    chart = accuracy_chart(results)
    assert chart is not None
    (line,) = chart.choices["accuracy along noise"]["data"]
    assert line["x"] == [0, 0.5]
    assert np.allclose(line["y"], [0.92, 0.42])
    assert np.allclose(line["error_y"]["array"], 0.02)


@pytest.mark.fast
def test_the_chart_has_a_line_for_each_setting_that_is_a_word() -> None:
    settings = [{"parameter.noise": noise, "optimise": goal} for goal in ("cycles", "ram") for noise in (0, 0.5)]
    rows = [Row("cnn", "rv32", own, AGREES, "", "", {"accuracy": number / 4}) for number, own in enumerate(settings)]
    results = Results("s", "s_study", ("parameter.noise", "optimise"), ("cycles",), tuple(rows), 4, 4, 1, 1.0, 0.1)
    chart = accuracy_chart(results)
    assert chart is not None
    lines = chart.choices["accuracy along noise"]["data"]
    assert {line["name"]: line["y"] for line in lines} == {
        "cnn on rv32, optimise cycles": [0.0, 0.25],
        "cnn on rv32, optimise ram": [0.5, 0.75],
    }
