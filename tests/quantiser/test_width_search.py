"""Widths that a budget allows: measured, planned, and the best of what was tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.quantiser.networks import Net, classifier, images
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ops.gelu import Gelu
from tilewright.ops.relu import Relu
from tilewright.quantiser.measure import accuracy
from tilewright.quantiser.quantise import Options, observed, rounded_weights
from tilewright.quantiser.sensitivity import noises, weights_by_bits
from tilewright.quantiser.tune import Tuning
from tilewright.quantiser.width_search import Budget, Search, search
from tilewright.target.settings import Settings

OPTIONS = Options(processes=1)


def dense_layers() -> Graph:
    """Large enough for weights to be packed wherever they are few bits."""
    net = Net(1, 48)
    for name in ("first", "second"):
        net.dense(48, name=name)
        net.add(Relu())
    net.dense(8, name="last")
    return net.graph()


def searched(kind: str, limit: float, target: str = "siracusa", **others: Any) -> Search:
    graph, shape = (classifier(softmax=False), ()) if target == "siracusa" else (dense_layers(), (1, 48))
    return search(graph, images(12, *shape), target, Settings(), Budget(kind, limit), OPTIONS, **others)


def test_fewer_bits_bring_more_noise_and_wider_tensors_less() -> None:
    ready = observed(classifier(softmax=False), images(12), OPTIONS)
    base = rounded_weights(ready, OPTIONS)
    found = noises(ready, base, weights_by_bits(ready, base, (4, 2), Tuning()), processes=1)
    for key in base:
        assert found.added(key, "w2") > found.added(key, "w4") > 0
    wide = [name for name, width in found.changed if width == "int16"]
    assert min(found.added(name, "int16") for name in wide) < 0


@pytest.fixture(scope="module")
def found() -> Search:
    return searched("min_snr", 20.0)


def test_a_ratio_is_reached_at_the_least_cost(found: Search) -> None:
    assert found.chosen.snr_db >= 20.0
    better = [point for point in found.points if point.snr_db >= 20.0]
    assert found.chosen.cost.cycles == min(point.cost.cycles for point in better)
    assert min(found.chosen.bits.values()) < 8


def test_bytes_are_kept_and_the_finest_widths_taken() -> None:
    limit = 3600
    found = searched("max_bytes", limit, "generic")
    assert found.unit == "bytes"
    assert found.chosen.cost.bytes <= limit
    allowed = [point for point in found.points if point.cost.bytes <= limit]
    assert found.chosen.snr_db == max(point.snr_db for point in allowed)


def test_the_metric_decides_where_there_is_one() -> None:
    labels = np.zeros((12, 1), np.int64)
    found = searched("max_loss", 0.0, "generic", metric=accuracy(labels))
    report = found.chosen.quantised.report
    assert report.metric is not None
    assert report.metric_float is not None
    assert report.metric >= report.metric_float


@pytest.mark.parametrize(
    ("kind", "limit", "target", "word"),
    [
        ("max_bytes", 10, "generic", "no widths reach it"),
        ("max_cycles", 1000, "generic", "no model of cycles"),
        ("max_loss", 0.1, "siracusa", "--labels or --metric"),
        ("max_grams", 1, "siracusa", "unknown"),
    ],
)
def test_what_cannot_be(kind: str, limit: float, target: str, word: str) -> None:
    with pytest.raises(CompileError, match=word):
        searched(kind, limit, target)


def test_points_say_what_they_are(found: Search) -> None:
    said = found.as_dict()
    assert sum(point["chosen"] for point in said["front"]) == 1
    assert all({"cycles", "bytes", "snr_db", "loss", "weight_bits", "int16"} <= set(point) for point in said["front"])
    assert [point["cycles"] for point in said["front"]] == sorted(point["cycles"] for point in said["front"])


def test_16_bits_bring_no_floats() -> None:
    """GELU has an integer form for bytes alone."""
    net = Net(1, 6, 16)
    net.dense(32, name="up")
    net.add(Gelu())
    net.dense(16, name="down")
    found = search(net.graph(), images(12, 6, 16), "siracusa", Settings(), Budget("min_snr", 10.0), OPTIONS)
    assert all(not point.quantised.report.floats for point in found.points)


def test_bits_are_said_of_layers(found: Search) -> None:
    assert {*found.chosen.bits} <= {layer.name for layer in found.chosen.quantised.report.layers}
    widths = {layer.name: layer.width for layer in found.chosen.quantised.report.layers}
    assert all(widths[name].startswith(f"w{bits} ") for name, bits in found.chosen.bits.items())
