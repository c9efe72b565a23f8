"""Widths that a budget allows: measured, planned, and the best of what was tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.quantiser.networks import Net, classifier, images, readings, with_units
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ir.types import TensorType
from tilewright.ops.gelu import Gelu
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.quantiser.cost.measure import accuracy
from tilewright.quantiser.quantise import Options, observed, quantise, rounded_weights
from tilewright.quantiser.rounding.tune import Tuning
from tilewright.quantiser.width_search.search import Budget, Search, search
from tilewright.quantiser.width_search.sensitivity import noises, weights_by_bits
from tilewright.quantiser.widths import Width, Widths
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(8)

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
        assert found.of_layer(key, "w2") > found.of_layer(key, "w4") > 0
    tensors = [name for name, width in found.tensors if width == "int16"]
    assert min(found.of_tensor(name, "int16") for name in tensors) < 0
    assert all(found.of_tensor(name, "float") <= found.of_tensor(name, "int16") for name in tensors)


@pytest.fixture(scope="module")
def found() -> Search:
    return searched("min_snr", 20.0)


@pytest.mark.in_turns(8)
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
        ("max_bytes", 10, "generic", "no bit widths reach it"),
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


@pytest.mark.in_turns(8)
def test_16_bits_bring_no_floats() -> None:
    """GELU has an integer form for bytes alone."""
    net = Net(1, 6, 16)
    net.dense(32, name="up")
    net.add(Gelu())
    net.dense(16, name="down")
    found = search(net.graph(), images(12, 6, 16), "siracusa", Settings(), Budget("min_snr", 10.0), OPTIONS)
    integers = [point for point in found.points if not point.floats]
    assert integers
    assert all(not point.quantised.report.floats for point in integers)


def test_bits_are_said_of_layers(found: Search) -> None:
    assert {*found.chosen.bits} <= {layer.name for layer in found.chosen.quantised.report.layers}
    widths = {layer.name: layer.width for layer in found.chosen.quantised.report.layers}
    assert all(widths[name].startswith(f"w{bits} ") for name, bits in found.chosen.bits.items())


# ---- floats ---------------------------------------------------------------------------------------------------------


def fixed_widths(activations: str) -> float:
    """What the network of features in units of their own reaches if all tensors are that wide."""
    options = replace(OPTIONS, widths=Widths(default=Width(8, activations)))
    return quantise(with_units(), readings(32), options).report.snr_db


def with_floats(kind: str, limit: float, options: Options = OPTIONS, target: str = "siracusa") -> Search:
    return search(with_units(), readings(32), target, Settings(), Budget(kind, limit), options)


@pytest.fixture(scope="module")
def reached() -> Search:
    return with_floats("min_snr", 30.0)


@pytest.mark.in_turns(8)
def test_floats_are_taken_where_neither_8_nor_16_bits_hold(reached: Search) -> None:
    assert max(fixed_widths("int8"), fixed_widths("int16")) < 10
    assert reached.chosen.snr_db >= 30.0
    assert reached.chosen.floats == ("x",)
    assert {*reached.chosen.bits} == {"second", "last"}
    assert {kept.name for kept in reached.chosen.quantised.report.floats} >= {"first"}
    assert reached.as_dict()["front"][-1]["float"] == ["x"]


def test_floats_cost_what_they_cost(reached: Search) -> None:
    cheapest = min(point.cost.cycles for point in reached.points)
    assert reached.chosen.cost.cycles > cheapest
    assert not with_floats("max_cycles", (reached.chosen.cost.cycles + cheapest) / 2).chosen.floats
    assert with_floats("max_cycles", reached.chosen.cost.cycles).chosen.floats == ("x",)


def test_a_width_that_was_said_is_kept() -> None:
    options = replace(OPTIONS, widths=Widths(layers={"x": Width(8, "int16"), "second": Width(4)}))
    found = with_floats("max_bytes", 10**6, options, "generic")
    assert found.chosen.floats == ("first",)
    assert all(point.bits["second"] == 4 for point in found.points)


def test_one_noise_that_hides_another_is_found_in_the_next_round() -> None:
    """Either of two branches alone spoils the sum: what helps one of them changes little."""
    net = Net(1, 8)
    other = net.builder.input("z", TensorType("float32", (1, 8)))
    scale = np.repeat([1e5, 1e-3], 4)
    made = [net.at, other]
    for at, tensor in enumerate(made):
        net.at = tensor
        made[at] = net.dense(16, name=f"of_{tensor}", divided_by=scale)
    net.add(Mul(), made[0], name="product")
    net.dense(4, name="last")
    samples = {"x": readings(32), "z": readings(32, seed=6)}
    found = search(net.graph(), samples, "siracusa", Settings(), Budget("min_snr", 25.0), OPTIONS)
    assert {"x", "z"} <= {*found.chosen.floats}
