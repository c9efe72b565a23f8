"""Whole networks through the quantiser: integers between the ends, little noise, and a report that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.quantiser.networks import Net, classifier, images, rows, transformer, with_cumsum, with_skip
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.relu import Relu
from tilewright.passes import apply
from tilewright.quantiser.balance import balanced
from tilewright.quantiser.cost.measure import accuracy
from tilewright.quantiser.links import links
from tilewright.quantiser.prepare.prepare import prepared
from tilewright.quantiser.quantise import Options, Quantised, quantise
from tilewright.quantiser.samples.samples import samples_of
from tilewright.quantiser.samples.stream import Walk, silent
from tilewright.quantiser.widths import ALL_EIGHT, Width, Widths

pytestmark = pytest.mark.in_turns(8)

ALONE = Options(processes=1)
CASES = {
    "classifier": (classifier(), images(24)), "skip": (with_skip(), images(24, 4, 6, 6)),
    "transformer": (transformer(), rows(24, 6, 16)),
}  # fmt: skip


@cache
def quantised(name: str) -> Quantised:
    return quantise(*CASES[name], ALONE)


def integer(found: Quantised) -> Graph:
    return apply(found.graph, pipeline.QUANTISING)


def noise(wanted: Graph, got: Graph, data: Array) -> float:
    """The signal-to-noise ratio of the outputs."""
    signal = error = 0.0
    for row in data:
        feeds = {"x": row.reshape(wanted.types["x"].shape)}
        right, other = evaluate(wanted, feeds)[wanted.outputs[0]], evaluate(got, feeds)[got.outputs[0]]
        signal, error = signal + float(np.sum(right**2)), error + float(np.sum((other - right) ** 2))
    return float(10 * np.log10(signal / max(error, 1e-30)))


@pytest.mark.parametrize("name", CASES)
def test_everything_between_the_ends_is_integer(name: str) -> None:
    found = quantised(name)
    assert found.report.floats == ()
    lowered = integer(found)
    for node in lowered.nodes:
        is_end = isinstance(node.op, QuantizeLinear | DequantizeLinear)
        assert is_end or lowered.types[node.key].dtype != "float32", node.where
    assert [node.op.kind for node in lowered.nodes].count("QuantizeLinear") == 1
    assert found.report.snr_db > 28


@pytest.mark.parametrize("name", CASES)
def test_the_report_says_what_the_network_does(name: str) -> None:
    (graph, data), found = CASES[name], quantised(name)
    assert noise(graph, found.graph, data) == pytest.approx(found.report.snr_db, abs=0.1)
    assert noise(graph, integer(found), data) == pytest.approx(found.report.snr_db, abs=1.5)
    assert len({layer.name for layer in found.report.layers}) > 3
    text = found.report.as_dict()
    assert {"metric_float", "metric", "snr_db", "layers"} <= {*text}
    assert {"name", "width", "snr_db", "hint"} <= {*text["layers"][0]}


@pytest.mark.in_turns(8)
def test_several_processes_find_the_same() -> None:
    data = images(48)
    alone, both = (quantise(classifier(), data, Options(processes=count)) for count in (1, 2))
    assert alone.graph.constants.keys() == both.graph.constants.keys()
    for name, array in alone.graph.constants.items():
        np.testing.assert_array_equal(array, both.graph.constants[name])
    assert alone.report.snr_db == pytest.approx(both.report.snr_db, abs=0.01)


# ---- equalisation -------------------------------------------------------------------------------------------------


def test_equalising_changes_nothing_in_floats_and_much_in_integers() -> None:
    graph, data = classifier(spread=1.5, softmax=False), images(24)
    network = prepared(graph)
    made = balanced(network, samples_of(graph, data), ALL_EIGHT, silent, 1)
    assert made.constants.keys() != network.constants.keys()
    assert noise(graph, made, data) > 100
    with_it, without = (quantise(graph, data, replace(ALONE, balance=on)).report.snr_db for on in (True, False))
    assert with_it > without


def test_depthwise_filters_are_linked_to_both_sides() -> None:
    found = {
        link.makers[0].node.name: [reader.layer.node.name for reader in link.all_readers]
        for link in links(classifier())
    }
    assert found == {"first": ["depthwise"], "depthwise": ["pointwise"]}


def test_outlier_channels_of_a_transformer_are_smoothed() -> None:
    graph, data = transformer(outliers=20.0), rows(24, 6, 16)
    smooth, rough = (quantise(graph, data, replace(ALONE, balance=on)).report.snr_db for on in (True, False))
    assert smooth > rough + 8


# ---- weights ------------------------------------------------------------------------------------------------------


def correlated(count: int) -> Array:
    """Samples whose elements go together, as those of real data do."""
    mix = np.random.default_rng(8).standard_normal((6, 32))
    return np.asarray(rows(count, 6) @ mix + 0.1 * rows(count, 32, seed=9), np.float32)


def dense() -> Graph:
    net = Net(1, 32)
    net.dense(16, name="only")
    return net.graph()


def test_learned_rounding_is_better_than_the_nearest() -> None:
    options = replace(ALONE, widths=Widths(Width(3, "int16")))
    learned, nearest = (
        quantise(dense(), correlated(64), replace(options, learn_rounding=on)).report.snr_db for on in (True, False)
    )
    assert learned > nearest + 3


def test_a_bias_takes_back_what_weights_are_wrong_by_on_average() -> None:
    graph, data = dense(), correlated(64) + 3
    options = replace(ALONE, widths=Widths(Width(3)))
    wrong = []
    for on in (True, False):
        made = quantise(graph, data, replace(options, correct_bias=on)).graph
        feeds = [{"x": row[None]} for row in data]
        results = [(Walk(graph).outputs(one), Walk(made).outputs(one)) for one in feeds]
        means = np.mean([b[made.outputs[0]] - a[graph.outputs[0]] for a, b in results], axis=0)
        wrong.append(float(np.abs(means).mean()))
    assert wrong[0] < wrong[1] / 3


def test_widths_are_data() -> None:
    graph, data = classifier(softmax=False), images(24)
    wide = Widths(layers={"first": Width(8, "int16"), "classes": Width(4), "pointwise": Width(8, "float32")})
    found = quantise(graph, data, replace(ALONE, widths=wide))
    shown = {layer.name: layer.width for layer in found.report.layers}
    assert shown["first"] == "w8 int16"
    assert shown["classes"] == "w4 int8"
    assert [kept.name for kept in found.report.floats if kept.operator == "Conv"] == ["pointwise"]
    levels = [
        value for name, value in found.graph.constants.items() if value.dtype == np.int8 and value.shape == (16, 5)
    ]
    assert max(np.abs(levels[0]).max(), 0) == 7


# ---- bad input ----------------------------------------------------------------------------------------------------


def test_an_operator_without_an_integer_form_is_named_with_its_price() -> None:
    found = quantise(with_cumsum(), rows(24, 8), ALONE)
    (kept,) = found.report.floats
    assert str(kept) == "running (CumSum) stays in floats, 8 float results per call: CumSum has no integer form"
    assert found.report.snr_db > 20


def test_a_channel_of_zeros_and_constant_activations() -> None:
    net = Net(1, 2, 4, 4)
    weights = net.random.standard_normal((4, 2, 1, 1))
    weights[1] = 0.0
    net.add(Conv(), net.constant(weights), net.constant(np.array([0.5, -3.0, 0.0, 1.0])), name="dead")
    net.add(Relu())
    dead = net.add(
        Conv(), net.constant(np.zeros((3, 4, 1, 1))), net.constant(np.array([0.0, 2.0, -1.0])), name="constant"
    )
    found = quantise(net.graph(), images(20, 2, 4, 4), ALONE)
    got = evaluate(integer(found), {"x": images(1, 2, 4, 4)})
    np.testing.assert_allclose(got[integer(found).outputs[0]][0, :, 0, 0], [0.0, 2.0, -1.0], atol=0.02)
    assert dead


def test_samples_that_are_all_alike_are_noticed() -> None:
    found = quantise(classifier(), np.zeros((20, 3, 8, 8), np.float32), ALONE)
    assert "always 0 on the samples: give samples that vary" in {layer.hint for layer in found.report.layers}


def test_a_network_that_gives_no_numbers_is_refused_where_it_does() -> None:
    net = Net(1, 4)
    net.add(Relu())
    net.dense(4, name="huge")
    graph = net.graph()
    big = {name: value * np.float32(1e38) if value.ndim == 2 else value for name, value in graph.constants.items()}
    with pytest.raises(CompileError, match=r"node 'huge' \(MatMul\): \d of 4 values are not finite on sample 0"):
        quantise(replace(graph, constants=big), rows(20, 4) * 1000, ALONE)


def test_a_quantised_network_is_quantised_anew_and_says_so() -> None:
    graph, data = classifier(), images(24)
    once = quantise(graph, data, ALONE)
    again = quantise(once.graph, data, ALONE)
    assert "was quantised already: its 9 quantisers are taken out" in again.report.notes[0]
    assert noise(graph, again.graph, data) > once.report.snr_db - 6


def test_a_network_of_integers_is_refused() -> None:
    found = integer(quantise(classifier(), images(24), ALONE))
    inner = replace(found, inputs=(found.nodes[0].key,), nodes=found.nodes[1:])
    with pytest.raises(CompileError, match="is already quantised: all 4 convolutions and products are integer"):
        quantise(inner, images(24).astype(np.int8), ALONE)


def test_labels_give_the_accuracy_of_both() -> None:
    graph, data = classifier(), images(24)
    labels = np.array([int(np.argmax(evaluate(graph, {"x": row[None]})[graph.outputs[0]])) for row in data])
    report = quantise(graph, data, ALONE, accuracy(labels)).report
    assert report.metric_float == 1.0
    assert report.metric == report.agreement


def test_a_metric_that_raises_is_shown_with_its_sample() -> None:
    def wrong(outputs: Mapping[str, Array], number: int) -> float:
        return 1 / (7 - number)

    with pytest.raises(CompileError, match="metric on sample 7: ZeroDivisionError: division by zero"):
        quantise(classifier(), images(24), ALONE, wrong)


def test_an_interrupt_goes_through() -> None:
    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantise(classifier(), images(24), ALONE, progress=stop)


def test_one_bad_sample_among_many_ends_all_processes() -> None:
    data = images(64)
    data[41, 0, 0, 0] = np.nan
    with pytest.raises(CompileError, match="sample 41, input 'x': 1 of 192 values are not finite, first nan"):
        quantise(classifier(), data, Options(processes=2))
