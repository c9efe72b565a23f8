"""Networks with state between calls: calibrated and measured over sequences of calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.quantiser.networks import rows
from tests.support.command import Command
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.export import save
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.tanh import Tanh
from tilewright.quantiser.quantise import Options, Ready, observed, quantise
from tilewright.quantiser.samples import sequences
from tilewright.quantiser.samples.samples import samples_of
from tilewright.quantiser.samples.sequences import with_states
from tilewright.quantiser.samples.stream import silent

WIDTH, STEPS = 8, 12
OPTIONS = Options(processes=1)


def leaky() -> Graph:
    """A sum over time that forgets a tenth at each call, and a layer that reads it."""
    builder, random = Builder("leaky"), np.random.default_rng(0)
    x = builder.input("x", TensorType("float32", (1, WIDTH)))
    total = builder.state("total", np.zeros((1, WIDTH), np.float32))
    (left,) = builder.add(Mul(), [total, builder.constant(np.array([0.9], np.float32))], name="left")
    (new,) = builder.add(Add(), [left, x], name="sum")
    weights = builder.constant((random.standard_normal((WIDTH, 4)) / 3).astype(np.float32))
    (scores,) = builder.add(MatMul(), [new, weights], name="scores")
    (y,) = builder.add(Tanh(), [scores], name="squashed")
    builder.set_next_state("total", new)
    builder.output(y, "y")
    return builder.build()


def drifting(count: int) -> Array:
    """Inputs with a mean of their own, whose sum over time is far above each."""
    return rows(count, STEPS, WIDTH) + np.float32(1.0)


def seen(ready: Ready) -> float:
    """How far the state reaches."""
    return ready.spread.histograms["total"].high


def test_a_state_is_seen_as_it_is_after_many_calls() -> None:
    sequence = drifting(6)
    assert seen(observed(leaky(), sequence, OPTIONS)) > 5
    assert seen(observed(leaky(), sequence.reshape(-1, WIDTH), OPTIONS)) == 0


@pytest.mark.parametrize("with_axis", [False, True])
def test_each_call_has_the_state_of_the_calls_before_it(with_axis: bool) -> None:
    graph, data = leaky(), drifting(3)
    given = data[:, :, None] if with_axis else data
    samples = with_states(graph, samples_of(graph, given), silent)
    assert (samples.count, samples.steps) == (3 * STEPS, STEPS)
    states: dict[str, Array] | None = None
    for number, feeds in samples.every():
        states = None if number % STEPS == 0 else states
        wanted = np.zeros((1, WIDTH), np.float32) if states is None else states["total"]
        np.testing.assert_array_equal(feeds["total"], wanted)
        inputs = {"x": feeds["x"]}
        states = dict(states_after(graph, evaluate(graph, inputs, states)))


def test_sequences_in_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", x=np.asfortranarray(drifting(4)))
    samples = samples_of(leaky(), tmp_path / "s.npz")
    found = np.concatenate([feeds["x"] for _, feeds in samples.every(1, 2)])
    np.testing.assert_array_equal(found, drifting(4).reshape(-1, WIDTH)[1::2])


@pytest.mark.in_turns(3)
def test_the_quantised_network_follows_its_own_state() -> None:
    """From the initial state alone the range of the state is a guess, and the outputs are wrong."""
    followed = quantise(leaky(), drifting(8), OPTIONS).report
    assert followed.samples == 8 * STEPS
    assert followed.snr_db > 25
    alone = quantise(leaky(), drifting(8).reshape(-1, WIDTH), OPTIONS)
    wrong, right = 0.0, 0.0
    for sequence in drifting(8):
        states: list[dict[str, Array] | None] = [None, None]
        for call in sequence:
            outputs = []
            for at, graph in enumerate((leaky(), alone.graph)):
                values = evaluate(graph, {"x": call[None]}, states[at])
                states[at] = dict(states_after(graph, values))
                outputs.append(values[graph.outputs[0]])
            wrong += float(np.sum((outputs[1] - outputs[0]) ** 2))
            right += float(np.sum(outputs[0] ** 2))
    assert 10 * np.log10(right / wrong) < 15


@pytest.mark.in_turns(3)
def test_the_c_is_measured_over_the_same_sequences() -> None:
    report = quantise(leaky(), drifting(4), Options(processes=1, run_c=True)).report
    assert report.in_c is not None
    assert report.in_c.samples == 4 * STEPS
    assert report.in_c.snr_db == pytest.approx(report.snr_db, abs=0.5)


@pytest.mark.in_turns(5)
def test_processes_share_sequences() -> None:
    alone, shared = (quantise(leaky(), drifting(40), Options(processes=count)).report for count in (1, 2))
    assert alone.snr_db == shared.snr_db


def test_states_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "MOST_BYTES", 100)
    with pytest.raises(CompileError, match="fewer or shorter sequences"):
        quantise(leaky(), drifting(4), OPTIONS)


def test_from_a_file_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An ONNX file whose state is said on the command line, labels for each step, and the file that is written."""
    source, made, labels = tmp_path / "leaky.onnx", tmp_path / "q.onnx", tmp_path / "labels.npy"
    save(leaky(), source)
    np.savez(tmp_path / "s.npz", x=drifting(4))
    np.save(labels, np.zeros((4, STEPS), np.int64))
    files: list[str | Path] = ["--data", tmp_path / "s.npz", "--labels", labels, "-o", made]
    found = Command(capsys)("quantise", source, *files, "--processes", "1", "--json").json
    assert found["samples"] == 4 * STEPS
    assert [state.name for state in pipeline.import_model(made).states] == ["total"]
