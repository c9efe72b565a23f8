"""Studies as they are written, and the points that they stand for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.errors import CompileError, ManyErrors
from tilewright.exploring.axes import ACCELERATOR, AXES, TOGETHER, Axis, _placed, settings_of
from tilewright.exploring.jobs import jobs_of
from tilewright.exploring.point import _adds_nothing
from tilewright.exploring.reading import read_study
from tilewright.exploring.study import Study
from tilewright.target.settings import Settings

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one.onnx", "two.tflite", "samples.npz"):
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


def written(folder: Path, text: str) -> Study:
    path = folder / "study.toml"
    path.write_text(text)
    return read_study(path)


def errors(folder: Path, text: str) -> list[CompileError]:
    with pytest.raises(CompileError) as raised:
        written(folder, text)
    return list(raised.value.errors) if isinstance(raised.value, ManyErrors) else [raised.value]


def test_a_study_is_the_product_of_what_it_lists(folder: Path) -> None:
    study = written(
        folder, 'models = ["one.onnx", "two.tflite"]\ntargets = "quad"\ncores = [1, 2, 4]\nbuffering = "single"'
    )
    points = study.points
    assert len(points) == 6
    assert {point.model.name for point in points} == {"one", "two"}
    assert points[0].model.file == str(folder / "one.onnx")
    assert points[1].settings == {"cores": 2, "buffering": "single"}
    assert study.axes == ("cores", "buffering")


def test_boards_are_targets(folder: Path) -> None:
    study = written(folder, 'models = "one.onnx"\ntargets = ["nucleo-l4r5zi", "cortex-m4"]')
    assert [point.target for point in study.points] == ["nucleo-l4r5zi", "cortex-m4"]


def test_sweeps_add_to_what_is_said_for_all(folder: Path) -> None:
    study = written(
        folder,
        """
        models = "one.onnx"
        memory.ram = 500000
        [[sweep]]
        targets = "generic"
        [[sweep]]
        targets = ["quad"]
        memory.tcdm = [30000, 60000]
        """,
    )
    assert [(point.target, dict(point.settings)) for point in study.points] == [
        ("generic", {"memory.ram": 500000}),
        ("quad", {"memory.ram": 500000, "memory.tcdm": 30000}),
        ("quad", {"memory.ram": 500000, "memory.tcdm": 60000}),
    ]


def test_a_point_that_two_sweeps_have_is_computed_once(folder: Path) -> None:
    text = 'models = "one.onnx"\ntargets = "quad"\n[[sweep]]\ncores = [1, 2]\n[[sweep]]\ncores = [2, 4]'
    assert [point.settings["cores"] for point in written(folder, text).points] == [1, 2, 4]


def test_values_become_settings() -> None:
    values: dict[str, Any] = {
        "cores": 2, "engines": "cluster, other", "memory.L2": 1000, "time_limit": 3, "pack_weights": True,
        "weight_bits": 4,
    }  # fmt: skip
    assert settings_of(values) == Settings(
        cores=2, engines=("cluster", "other"), memories=(("l2", 1000),), time_limit=3.0, packed_weights=True
    )


def test_every_axis_is_a_setting() -> None:
    for axis in AXES.values():
        assert hasattr(Settings(), axis.field)


def test_a_list_within_a_list_is_one_value(folder: Path) -> None:
    study = written(folder, 'models = "one.onnx"\ntargets = "quad"\nengines = ["cluster", ["cluster", "npu"]]')
    assert [point.settings["engines"] for point in study.points] == ["cluster", "cluster,npu"]


@pytest.fixture
def accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AXES, ACCELERATOR, Axis(ACCELERATOR, "accelerators", str, separator=TOGETHER))


@pytest.mark.usefixtures("accelerators")
def test_accelerators_are_called_as_in_the_study_wherever_they_lie(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.exploring.jobs.sources_digest", lambda: "ours")
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "accelerator.py").write_text("")
    text = """
        models = "two.tflite"
        targets = "quad"
        [[sweep]]
        [[sweep]]
        accelerator = ["one", ["one:a=1,b=2", "two"]]
        parameter.size = [8, 16]
        """
    points = written(folder, text).points
    assert [dict(point.settings) for point in points] == [
        {},
        {"accelerator": "one", "parameter.size": 8},
        {"accelerator": "one", "parameter.size": 16},
        {"accelerator": "one:a=1,b=2 + two", "parameter.size": 8},
        {"accelerator": "one:a=1,b=2 + two", "parameter.size": 16},
    ]
    assert points[4].folders == {"one": str(folder / "one"), "two": str(folder / "two")}
    assert points[4].paths == (points[4].model.file, str(folder / "one"), str(folder / "two"))
    before = keys(written(folder, text))
    (folder / "two" / "accelerator.py").write_text("changed")
    assert [own == was for own, was in zip(keys(written(folder, text)), before, strict=True)] == [True] * 3 + [
        False
    ] * 2


def test_instructions_are_folders_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with it; its rows are others when it is, or when yosys can say its area."""
    monkeypatch.setattr("tilewright.exploring.jobs.sources_digest", lambda: "ours")
    monkeypatch.setattr("tilewright.exploring.jobs.find_yosys", lambda: None)
    (folder / "dot4").mkdir()
    text = 'models = "one.onnx"\ntargets = "rv32"\ninstruction = ["", "dot4"]\naccelerator = ""\nparameter.size = 1\n'
    points = written(folder, text).points
    places = [settings_of(point.settings, point.folders).instructions for point in points]
    assert places == [(), (str(folder / "dot4"),)]
    assert [_adds_nothing(point) for point in points] == [True, False]
    assert not any(_adds_nothing(replace(point, settings={})) for point in points)
    before = keys(written(folder, text))
    (folder / "dot4" / "instruction.toml").write_text("changed")
    after = keys(written(folder, text))
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)
    monkeypatch.setattr("tilewright.exploring.jobs.find_yosys", lambda: ("yosys",))
    again = keys(written(folder, text))
    assert (again[0] == after[0], again[1] == after[1]) == (True, False)
    assert "instruction = 'none'" in errors(folder, text.replace('"dot4"', '"none"'))[0].where


@pytest.mark.usefixtures("accelerators")
def test_accelerators_that_are_not_there(folder: Path) -> None:
    general = 'models = "one.onnx"\ntargets = "quad"\n'
    assert "there is no folder" in errors(folder, general + 'accelerator = "none"')[0].what
    assert "there is no accelerator" in errors(folder, general + "parameter.size = 3")[0].what


def test_where_accelerators_lie_and_what_they_are_given() -> None:
    assert _placed("one", {"one": "/there/one"}, {}) == "/there/one"
    assert _placed("one:a=1", {"one": "/there/one"}, {"b": 2}) == "/there/one:a=1,b=2"
    assert _placed("one", {}, {"b": 2}) == "one:b=2"


def test_everything_that_is_wrong_is_said_at_once_with_the_nearest_name(folder: Path) -> None:
    found = errors(
        folder,
        """
        modles = "one.onnx"
        second = 3
        objectives = ["cylces"]
        [[sweep]]
        models = ["none.onnx", {file = "one.onnx", nme = "x"}]
        targets = ["qaud"]
        coers = [1]
        cores = [1, "two", 0, true]
        buffering = "duble"
        memory = 3
        """,
    )
    told = {error.where.split(": ", 1)[1]: (error.what, error.hint) for error in found}
    assert told["modles"] == ("is unknown", "do you mean models?")
    assert told["second"][1] == "do you mean seconds?"
    assert told["sweep, coers"][1] == "do you mean cores?"
    assert told["models, nme"][1] == "do you mean name?"
    assert told["targets = 'qaud'"][1] == "do you mean quad?"
    assert told["objectives = 'cylces'"][1] == "do you mean cycles?"
    assert told["cores = 'two'"][0] == told["cores = True"][0] == "is not a whole number"
    assert told["cores = 0"][0] == "is not above 0"
    assert "'single', 'double', 'auto'" in told["buffering = 'duble'"][0]
    assert told["memory"] == ("has no name", "write memory.NAME = [...]")
    assert f"there is no file '{folder / 'none.onnx'}'" in told["models"][0]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "are missing"),
        ('models = []\ntargets = "quad"', "are missing"),
        ('models = 3\ntargets = "quad"', "3 is no file"),
        ('models = ["one.onnx", "one.onnx"]\ntargets = "quad"', "2 are called one"),
        ('models = "one.onnx"\ntargets = [["quad"]]', "is unknown"),
        ('models = "one.onnx"\ntargets = "nucleo-l4r5"', "is unknown"),
        ('models = "one.onnx"\ntargets = "quad"\ncores = []', "has no values"),
        ('models = "one.onnx"\ntargets = "quad"\ncores = {a = 1}', "is not a value"),
        ('models = "one.onnx"\ntargets = "quad"\nseconds = 0', "is not above 0"),
        ('models = "one.onnx"\ntargets = "quad"\ntolerance = "x"', "is not a number"),
        ('models = "one.onnx"\ntargets = "quad"\nsweep = 3', "is not a table"),
        ('models = "one.onnx"\ntargets = "quad"\nweight_bits = 4', "model one is not quantised here"),
        ('models = {file = "one.onnx", samples = "samples.npz"}\ntargets = "quad"\nweight_bits = 9', "from 2 to 8"),
        ('models = {file = "one.onnx", shapes = {x = "big"}}\ntargets = "quad"', "not a list of whole numbers"),
        ('models = {file = "one.onnx", dims = 3}\ntargets = "quad"', "is not a table"),
        ("models = [", "is not TOML"),
    ],
)
def test_bad_studies(folder: Path, text: str, what: str) -> None:
    assert any(what in error.what for error in errors(folder, text))


def test_too_many_points_are_refused(folder: Path) -> None:
    numbers = ", ".join(map(str, range(1, 200)))
    text = f'models = "one.onnx"\ntargets = "quad"\ncores = [{numbers}]\nl1 = [{numbers}]'
    assert "39,601 points" in errors(folder, text)[0].what


def test_a_file_that_is_not_there_or_no_text(folder: Path) -> None:
    with pytest.raises(CompileError, match="cannot be read"):
        read_study(folder / "none.toml")
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CompileError, match="is not UTF-8 text"):
        read_study(folder / "binary.toml")


def keys(study: Study) -> list[str]:
    return [job.key for job in jobs_of(study)]


def test_keys_depend_on_contents_and_settings_and_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.exploring.jobs.sources_digest", lambda: "ours")
    text = 'models = "two.tflite"\ntargets = "quad"\ncores = [1, 2]'
    before = keys(written(folder, text))
    assert len(set(before)) == 2
    assert keys(written(folder, "seconds = 5\nname = 'other'\n" + text)) == before
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "two.tflite").write_bytes(b"two.tflite")
    assert keys(written(elsewhere, text)) == before
    (folder / "two.tflite").write_bytes(b"other bytes")
    assert not set(keys(written(folder, text))) & set(before)


def test_keys_depend_on_our_sources(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = written(folder, 'models = "two.tflite"\ntargets = "quad"')
    before = keys(study)
    monkeypatch.setattr("tilewright.exploring.jobs.sources_digest", lambda: "others")
    assert keys(study) != before
