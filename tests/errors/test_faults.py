"""Faults of our own: never taken for a refusal, never swallowed, and shown with all that is needed to mend them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.fuzz import run_case

import tilewright as tw
from tests.planner.planning import prepared
from tests.support.command import Command
from tests.support.models import model, node, residual
from tests.support.tflite_cases import QUANTISED
from tilewright.accelerator.users_passes import users_passes
from tilewright.errors import CompileError, InternalError, instance, present
from tilewright.frontends.python_errors import is_ours
from tilewright.frontends.tflite import file, importer
from tilewright.ir.graph import Builder
from tilewright.memory import validate
from tilewright.own_kernels.folder import _called
from tilewright.passes import Pass
from tilewright.planner.cluster import planning
from tilewright.quantiser.cost.measure import checked
from tilewright.target.settings import Settings
from tilewright.target.user_python import named
from tilewright.version import VERSION

pytestmark = pytest.mark.fast

SOURCES = Path(tw.__file__).parent
MAY_ASSERT = {"codegen/runtime_text.py", "ops"}
"""The geometry of operators, and a file whose assertion only tells the type checker what is known."""
ASSERTS = re.compile(r"\s*assert\s")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "a network; $(true).onnx"
    path.write_bytes(model([node("Relu", "x", "y")], {"x": (3,)}, ["y"]).SerializeToString())
    return path


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception, where: str = "tilewright.pipeline.import_model") -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(where, fail)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_fault_is_no_refusal() -> None:
    assert not issubclass(InternalError, CompileError)
    assert not issubclass(CompileError, InternalError)
    assert tw.InternalError is InternalError


def test_a_fault_is_shown_with_what_to_report(
    capsys: pytest.CaptureFixture[str], network: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, InternalError("node 'a'", "two tiles overlap"))
    ran = Command(capsys)("compile", network, "--name", "my net")
    assert ran.code == 3
    assert ran.out == ""
    assert ran.err.splitlines()[:4] == [
        "✗ where node 'a'",
        "│ what  two tiles overlap",
        "│ hint  this is a fault of Tilewright, not of your model: please report it with",
        f"│         tilewright compile '{network}' --name 'my net'",
    ]
    assert f"tilewright {VERSION}, Python 3" in ran.err
    assert str(cache / "traceback.txt") in ran.err
    assert "Traceback" not in ran.err
    assert "two tiles overlap" in (cache / "traceback.txt").read_text()


def test_an_unexpected_exception_is_shown_the_same_way(
    capsys: pytest.CaptureFixture[str], network: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, KeyError("boom\x1b[31m"))
    ran = Command(capsys)("analyze", network)
    assert ran.code == 3
    assert "✗ where test_faults.py:" in ran.err
    assert "KeyError: 'boom" in ran.err
    assert "\x1b" not in ran.err
    assert "please report it with" in ran.err
    assert "Traceback" not in ran.err
    assert "Traceback (most recent call last)" in (cache / "traceback.txt").read_text()


def test_the_traceback_can_be_shown(
    capsys: pytest.CaptureFixture[str], network: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, KeyError("boom"))
    monkeypatch.setenv("TILEWRIGHT_TRACEBACK", "1")
    ran = Command(capsys)("analyze", network)
    assert ran.code == 3
    assert "Traceback (most recent call last)" in ran.err
    assert not (cache / "traceback.txt").exists()


def test_a_cache_that_cannot_be_written_hides_nothing(
    capsys: pytest.CaptureFixture[str], network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, InternalError("node 'a'", "two tiles overlap"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(network))
    ran = Command(capsys)("analyze", network)
    assert ran.code == 3
    assert "two tiles overlap" in ran.err


def test_a_fault_as_json(
    capsys: pytest.CaptureFixture[str], network: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, InternalError("node 'a'", "two tiles overlap"))
    ran = Command(capsys)("run", network, "--json")
    assert ran.code == 3
    assert ran.json["status"] == "error"
    assert ran.json["error"]["where"] == "node 'a'"
    assert ran.json["errors"] == [ran.json["error"]]
    assert ran.json["internal"] == {
        "command": f"tilewright run '{network}' --json", "version": VERSION, "traceback": str(cache / "traceback.txt")
    }  # fmt: skip


def test_a_refusal_is_no_fault(capsys: pytest.CaptureFixture[str], network: Path) -> None:
    ran = Command(capsys)("analyze", network, "--target", "nonsense", "--json")
    assert ran.code == 2
    assert "internal" not in ran.json


@pytest.mark.parametrize("settings", [Settings(2), Settings(2, 4_000), Settings(8, 8_000, home="L3")])
def test_the_planner_does_not_swallow_its_own_fault(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where something does not fit it tries again, with stacks elsewhere or tensors in other homes: only then."""
    made, tried = planning._placed, []

    def overlapping(*arguments: object) -> object:
        plan = made(*arguments)  # type: ignore[arg-type]
        tried.append(plan)
        raise validate._broken("'a' and 'b' overlap")

    monkeypatch.setattr(planning, "_placed", overlapping)
    with pytest.raises(InternalError, match="'a' and 'b' overlap"):
        prepared(residual()).plan(settings)
    assert len(tried) == 1


def fails(*arguments: object) -> object:
    raise InternalError("memory plan", "'a' and 'b' overlap")


def pass_of_a_user(path: Path) -> object:
    unit = SimpleNamespace(accelerator=SimpleNamespace(passes=[Pass("theirs", fails)]), folder=path)
    (made,) = users_passes(unit)  # type: ignore[arg-type]
    return made.run(Builder("empty").build())


def file_of_a_user(path: Path) -> None:
    with named(path):
        fails()


THEIRS: dict[str, Callable[[Path], object]] = {
    "a pass": pass_of_a_user,
    "a file": file_of_a_user,
    "a metric": lambda path: checked(fails, {}, 0),  # type: ignore[arg-type]
    "kernels": lambda path: _called(path, lambda: fails(), {}, "place"),
}


@pytest.mark.parametrize("whose", THEIRS)
def test_a_fault_that_a_users_code_runs_into_stays_one(whose: str, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="overlap"):
        THEIRS[whose](tmp_path)


def test_the_fuzzer_counts_a_fault_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    data = model([node("Relu", "x", "y")], {"x": (3,)}, ["y"]).SerializeToString()
    assert run_case(data, False) == "compiled"
    failing(monkeypatch, InternalError("memory plan", "'a' and 'b' overlap"), "tilewright.planner.planners.allocate")
    assert run_case(data, False).startswith("BUG: InternalError: memory plan: 'a' and 'b' overlap")


def test_guarantees() -> None:
    assert present(0, "a", "b") == 0
    assert instance(True, int) is True
    with pytest.raises(InternalError, match="a: b"):
        present(None, "a", "b")
    with pytest.raises(InternalError, match="int expected: there is str instead"):
        instance("1", int)


def test_no_check_is_an_assert() -> None:
    """Python drops them with -O, and they say nothing to whoever sees one fail."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES)
        if name.as_posix() in MAY_ASSERT or name.parts[0] in MAY_ASSERT:
            continue
        found += [f"{name}:{at}" for at, line in enumerate(path.read_text().splitlines(), 1) if ASSERTS.match(line)]
    assert found == []


def test_nobody_asks_for_reports_of_a_refusal() -> None:
    """What is to be reported is a fault; only compilers of others are told apart by nobody but the user."""
    texts = {path: path.read_text() for path in SOURCES.rglob("*.py")}
    asking = [path.relative_to(SOURCES).as_posix() for path, text in texts.items() if "please report" in text]
    assert asking == ["cli/fault.py"]


FAULTS = [AttributeError("a"), IndexError("a"), KeyError("a"), TypeError("a"), ValueError("a"), ZeroDivisionError("a")]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_what_an_operator_stumbles_over_is_our_fault(
    error: Exception, capsys: pytest.CaptureFixture[str], network: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are untrusted, hence checked: what is not is ours to mend."""
    failing(monkeypatch, error, "tilewright.ops.relu.Relu.expand")
    ran = Command(capsys)("compile", network)
    assert ran.code == 3
    assert f"where node 'y' (Relu)\n│ what  {type(error).__name__}: " in ran.err


def test_what_a_rule_of_tflite_stumbles_over_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    data = QUANTISED["add"](np.random.default_rng(0))
    monkeypatch.setitem(importer.RULES, "ADD", lambda node: {}["scale"])
    with pytest.raises(InternalError, match="KeyError: 'scale'"):
        importer.load(data)


def test_what_the_reader_of_tflite_stumbles_over_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    data = QUANTISED["add"](np.random.default_rng(0))
    monkeypatch.setattr(file, "_integers", lambda table, name: int("none"))
    with pytest.raises(ValueError, match="invalid literal"):
        file.read(data)


def test_where_an_exception_comes_from() -> None:
    """Not from whoever asks, nor from numpy, which says what its callers do wrong."""

    def asked(call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception as error:
            return is_ours(error)
        raise AssertionError

    class Broken:
        @property
        def shape(self) -> int:
            raise KeyError("shape")

    assert not asked(lambda: {}["own"])
    assert asked(lambda: file.read(b"TFL"))
    assert asked(lambda: instance(3, str))
    assert not asked(lambda: walk_shapes(Broken()))


def walk_shapes(value: object) -> object:
    return value.shape  # type: ignore[attr-defined]
