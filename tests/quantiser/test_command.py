"""`tilewright quantise` from the outside: the file that it writes, what it prints, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from tests.quantiser.networks import classifier, images, transformer
from tests.support.command import Command
from tilewright import pipeline
from tilewright.export import save
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.passes import apply

pytestmark = pytest.mark.in_turns(6)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(classifier(), tmp_path / "net.onnx")
    np.savez(tmp_path / "s.npz", x=images(20))
    np.save(tmp_path / "labels.npy", np.arange(20) % 5)
    return tmp_path


def test_the_file_runs_elsewhere_with_the_same_result(folder: Path, command: Command) -> None:
    out = folder / "q.onnx"
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", out, "--json", "--processes", "1")
    assert ran.code == 0, ran.out
    graph = apply(pipeline.import_model(out), pipeline.QUANTISING)
    steps = [_steps(out, row[None], evaluate(graph, {"x": row[None]})[graph.outputs[0]]) for row in images(20)]
    assert np.max(steps) <= 1
    assert np.mean(np.array(steps) == 0) >= 0.99


def _steps(path: Path, x: Array, ours: Array) -> Array:
    """How many levels of the output another runtime is away."""
    (theirs,) = ort.InferenceSession(str(path)).run(None, {"x": x})
    return np.asarray(np.abs(np.rint((theirs - ours) * 256)))


def test_the_report_as_json(folder: Path, command: Command) -> None:
    words = ("--labels", folder / "labels.npy", "--picture", folder / "p.svg", "--json", "--processes", "1")
    found = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words).json
    assert found["status"] == "ok"
    assert 0 <= found["metric"] <= 1
    assert 0 <= found["metric_float"] <= 1
    assert found["snr_db"] > 25
    assert {"name", "width", "snr_db", "hint"} <= {*found["layers"][0]}
    picture = (folder / "p.svg").read_text()
    assert picture.startswith("<svg")
    assert "pointwise" in picture


def test_the_report_as_a_table(folder: Path, command: Command) -> None:
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx")
    assert ran.code == 0
    assert "worst of" in ran.out
    assert "top-1 as in floats on" in ran.out


def test_a_metric_of_the_users_own(folder: Path, command: Command) -> None:
    (folder / "m.py").write_text("def first(outputs, number):\n    return next(iter(outputs.values()))[0, 0]\n")
    words = ("--metric", f"{folder / 'm.py'}:first", "--json", "--processes", "1")
    found = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words).json
    assert found["metric"] == pytest.approx(found["metric_float"], abs=0.02)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(outputs, number):\n    raise ValueError('no label')\n", "metric on sample 0: ValueError: no label"),
        ("def g(outputs, number):\n    return 0\n", "has no function 'f'"),
        ("import nothing_of_that_name\n", "the file cannot be run: ModuleNotFoundError"),
        ("def f(outputs, number):\n    return float('nan')\n", "metric on sample 0: gives nan"),
    ],
)
def test_a_metric_that_does_not_work(folder: Path, command: Command, text: str, expected: str) -> None:
    (folder / "m.py").write_text(text)
    words = ("--metric", f"{folder / 'm.py'}:f", "--json", "--processes", "1")
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words)
    assert ran.code == 2
    error = ran.json["error"]
    assert expected in f"{error['where']}: {error['what']}"
    assert not (folder / "q.onnx").exists()


def test_labels_that_are_too_few(folder: Path, command: Command) -> None:
    np.save(folder / "labels.npy", np.arange(3))
    words = ("--labels", folder / "labels.npy", "--json")
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words)
    assert (ran.code, ran.json["error"]["what"]) == (2, "are 3 for 20 samples")


@pytest.mark.parametrize("content", [b"", b"1 2 3"])
def test_labels_that_are_no_array(folder: Path, command: Command, content: bytes) -> None:
    (folder / "labels.npy").write_bytes(content)
    words = ("--labels", folder / "labels.npy", "--json")
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words)
    assert (ran.code, ran.json["error"]["what"]) == (2, "is not an .npy file of classes")


def test_an_interrupt_leaves_no_half_written_file(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.quantiser.quantise.measure", stopped)
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx")
    assert ran.code == 130
    assert {path.name for path in folder.iterdir()} == {"net.onnx", "s.npz", "labels.npy"}


def test_a_width_that_is_none(folder: Path, command: Command) -> None:
    ran = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "--width", "first=int9", "--json")
    assert ran.json["error"]["what"] == "is unknown"


def test_a_transformer_is_written_too(tmp_path: Path, command: Command) -> None:
    save(transformer(), tmp_path / "t.onnx")
    np.savez(tmp_path / "s.npz", x=images(20, 6, 16))
    ran = command("quantise", tmp_path / "t.onnx", "--data", tmp_path / "s.npz", "-o", tmp_path / "q.onnx", "--json")
    assert ran.code == 0, ran.out
    assert ran.json["floats"] == []


INTERRUPTED = """
import multiprocessing, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
from tilewright.quantiser.ranges import histogram
reader, calls, quick = os.getpid(), multiprocessing.Value("i", 0), histogram.Histogram.add
def add(self, values):
    with calls.get_lock():
        calls.value += 1
        if calls.value == 20:
            os.kill(reader, signal.{signal})
    time.sleep(0.02)
    quick(self, values)
histogram.Histogram.add = add
from tilewright.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.in_turns(8)
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_several_processes_work(folder: Path, name: str, code: int) -> None:
    """They end soon and without a word, and there is no file."""
    np.savez(folder / "s.npz", x=images(1000))
    script = INTERRUPTED.format(signal=name)
    words = ["quantise", "net.onnx", "--data", "s.npz", "-o", "q.onnx", "--processes", "2"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert {path.name for path in folder.iterdir()} == {"net.onnx", "s.npz", "labels.npy"}


@pytest.mark.in_turns(8)
def test_widths_for_a_budget(folder: Path, command: Command) -> None:
    words = ("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", "--processes", "1")
    ran = command(*words, "--target", "siracusa", "--min-snr", "15", "--front", folder / "front.svg")
    assert ran.code == 0, ran.out
    assert "widths on siracusa" in ran.out
    assert "<svg" in (folder / "front.svg").read_text()
    both = command(*words, "--min-snr", "15", "--max-bytes", "1000")
    assert both.code == 2
    assert "cannot both be asked for" in both.out + both.err


def test_what_runs_in_c_is_what_was_simulated(folder: Path, command: Command) -> None:
    words = ("--labels", folder / "labels.npy", "--run-c", "--json", "--processes", "1")
    found = command("quantise", folder / "net.onnx", "--data", folder / "s.npz", "-o", folder / "q.onnx", *words).json
    assert found["snr_c_db"] == pytest.approx(found["snr_db"], abs=1.0)
    assert found["metric_c"] == pytest.approx(found["metric"], abs=0.1)
    assert found["top1_agreement_c"] == pytest.approx(found["top1_agreement"], abs=0.1)
