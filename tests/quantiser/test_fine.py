"""What gets 16 bits without being asked for, and attention whose shares are small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.quantiser.networks import Net, classifier, images, rows, transformer
from tilewright.ops.matmul import MatMul
from tilewright.ops.softmax import Softmax
from tilewright.quantiser.cost.reporting import LayerReport
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.widths import Width, Widths

ALONE = Options(processes=1)


def layers(graph: object, data: object, options: Options = ALONE) -> dict[str, LayerReport]:
    return {layer.name: layer for layer in quantise(graph, data, options).report.layers}  # type: ignore[arg-type]


@pytest.mark.in_turns(5)
def test_scores_have_16_bits_unless_a_width_is_given() -> None:
    graph, data = classifier(softmax=False), images(24)
    eight = replace(ALONE, widths=Widths(layers={"classes": Width()}))
    assert layers(graph, data)["classes"].width == "w8 int16"
    assert layers(graph, data, eight)["classes"].width == "w8 int8"
    assert layers(graph, data, replace(ALONE, fine_outputs=False))["classes"].width == "w8 int8"


@pytest.mark.in_turns(3)
def test_inner_results_and_probabilities_stay_bytes() -> None:
    found = layers(classifier(), images(24))
    assert {layer.width.split()[-1] for layer in found.values()} == {"int8"}


@pytest.mark.in_turns(6)
def test_sums_that_are_normalised_have_16_bits() -> None:
    graph, data = transformer(), rows(24, 6, 16)
    fine, coarse = (layers(graph, data, replace(ALONE, fine_sums=on)) for on in (True, False))
    assert (fine["residual"].width, coarse["residual"].width) == ("int16", "int8")
    assert fine["norm2"].snr_db > coarse["norm2"].snr_db


def test_small_shares_of_attention_have_a_range_of_their_own() -> None:
    net = Net(1, 4, 64, seed=2)
    net.dense(64, name="scores", divided_by=4.0)
    net.add(Softmax(axis=2), name="attention")
    net.add(MatMul(), net.normal(64, 8), name="mixed")
    found = layers(net.graph(), rows(24, 4, 64))["attention"]
    assert found.high < 0.5
    assert found.method != "fixed"
