"""The studies of language models, on a tiny one: what they measure is what they say, and they print and draw it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import bar_charts, line_charts, lm_cache, lm_context, lm_modes
from benchmarks.lm_model import CORES, RESIDENT, Cost, Model, decode_costs, feeds, peer_model, program

from tilewright.ir.evaluate import evaluate
from tilewright.program import Program
from tilewright.run.steps import reference_steps

BLOCK, CACHED = 8, 16


@pytest.fixture(scope="module")
def model() -> Model:
    return peer_model(quick=True)


@pytest.fixture(scope="module")
def decoding(model: Model) -> Program:
    return program(model.decode())


@pytest.mark.in_turns(5)
def test_scores_without_a_cache_are_those_with_one(model: Model) -> None:
    tokens, decode, whole = 6, model.decode(), model.without_cache(6)
    ids = feeds(tokens, 0)["ids"]
    steps = [{"ids": ids[:, at : at + 1], "position": np.array([at], np.int32)} for at in range(tokens)]
    last = evaluate(whole, feeds(tokens, 0))[whole.outputs[0]]
    assert last.shape == (1, 1, model.config.words)
    np.testing.assert_array_equal(last, reference_steps(decode, steps)["logits"][-1])


@pytest.mark.in_turns(8)
def test_steps_cost_more_the_more_is_cached(decoding: Program) -> None:
    costs = decode_costs(decoding, CACHED + 1)
    assert len(costs) == CACHED + 1
    assert costs[0].cycles < costs[8].cycles < costs[CACHED].cycles
    assert costs[0].microjoules < costs[CACHED].microjoules


@pytest.mark.in_turns(6)
def test_a_decoder_that_has_read_a_text(model: Model, decoding: Program) -> None:
    """Its first call is the step that comes behind the text: the same scores in the same time."""
    steps = [feeds(1, position) for position in range(CACHED + 1)]
    in_order = decoding.run_steps({name: np.stack([step[name] for step in steps]) for name in ("ids", "position")})
    alone = program(model.decode_behind(CACHED)).run(feeds(1, CACHED))
    np.testing.assert_array_equal(alone["logits"], in_order["logits"][-1])
    # Its code is where the others' is, but no step has run before: caches are cold.
    assert alone.cycles == pytest.approx(in_order.cycles, rel=0.03)


@pytest.mark.in_turns(8)
def test_modes(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(lm_modes.measure(model, [BLOCK], CACHED, [CORES, RESIDENT]))
    assert [(one.mode, one.way) for one in found] == [
        (mode, way) for mode in ("prefill of 8", "decode behind 16") for way in (CORES, RESIDENT)
    ]
    for cores, npu in (found[:2], found[2:]):
        assert lm_modes.OTHER not in {*cores.cycles, *npu.cycles}
        assert cores.npu == 0 < npu.npu < npu.total
        assert npu.cycles["linear"] < cores.cycles["linear"]
        assert ("head" in npu.cycles) == (npu.tokens == 1)
    # Many tokens at once take less time each.
    assert found[1].total / BLOCK < found[3].total
    lm_modes.print_tables(found, model)
    assert f"{found[3].total:,}" in capsys.readouterr().out
    assert "element by element" in bar_charts.svg(lm_modes.chart(found))


def test_bars_have_round_scales() -> None:
    group = bar_charts.Group("decode", {"cores": {"linear": 300e3, "head": 103e3}, "NPU": {"linear": 54e3}})
    assert (group.tallest, group.tick, group.ticks) == (403e3, 100e3, 5)
    assert group.ticks * group.tick >= group.tallest


def test_operators_of_no_class_are_told() -> None:
    layer = SimpleNamespace(name="layer0.strange", operator="Fourier")
    assert lm_modes.class_of(layer) == lm_modes.OTHER  # type: ignore[arg-type]


@pytest.mark.in_turns(8)
def test_cache(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    lengths = (1, 16)
    cached, whole = lm_cache.with_cache(model, 16), lm_cache.without_cache(model, lengths)
    assert cached.lengths == [*range(1, 17)]
    found = {lm_cache.WITH: cached, lm_cache.WITHOUT: whole}
    kept, again = (one.costs[16] for one in found.values())
    assert kept.cycles < again.cycles
    assert kept.microjoules < again.microjoules
    lm_cache.print_tables(found, lengths, model.name, compare=True)
    out = capsys.readouterr().out
    assert f"{again.cycles:,.0f}" in out
    assert "17.60" in out
    assert "ms per token" in line_charts.svg(lm_cache.chart(found, lengths))


def test_sums_over_a_text() -> None:
    """360 thousand cycles are a millisecond; without a cache a token costs what all before it cost together."""
    flat = lm_cache.Measured({1: Cost(360e3, 100.0), 10: Cost(360e3, 100.0)}, 1)
    assert flat.total(10) == pytest.approx((0.010, 1.0))
    square = lm_cache.Measured({n: Cost(360e3 * n * n, n * n) for n in (1, 4, 7, 10)}, lm_cache.PARABOLA)
    assert square.total(10) == pytest.approx((0.385, 0.385))
    assert square.worst_fit == pytest.approx(0, abs=1e-9)


@pytest.mark.in_turns(3)
def test_context(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: Model, tmp_path: Path
) -> None:
    monkeypatch.setattr(lm_context, "peer_model", lambda quick: model)
    picture = tmp_path / "context.svg"
    monkeypatch.setattr(sys, "argv", ["lm_context.py", "--quick", "--picture", str(picture)])
    lm_context.main()
    assert "simulated tokens/s" in capsys.readouterr().out
    assert "uJ per token" in picture.read_text()


def test_figures_are_means_of_steps_around_them() -> None:
    costs = [Cost(cycles, cycles / 10) for cycles in (10, 20, 60, 40, 50)]
    assert [lm_context.around(costs, behind).cycles for behind in (0, 1, 2, 4)] == [10, 30, 36, 50]
    assert lm_context.around(costs, 1).microjoules == pytest.approx(3)


def test_the_whole_model_against_the_peer(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    costs = [Cost(200e3, 90.0), Cost(360e3, 98.0)]
    found = lm_context.Measured(model, (16, 64), costs, 5.0)
    assert found.growth == pytest.approx(200 / 360)
    lm_context.print_comparison(found)
    out = capsys.readouterr().out
    assert "1,000" in out
    assert "2.94x" in out
    assert "5.00x" in out
