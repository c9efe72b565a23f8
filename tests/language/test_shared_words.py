"""Tied embeddings and heads: one array, whatever the quantiser has made of each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import talkers
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType
from tilewright.language.model import LanguageModel
from tilewright.language.preparing import Quantising
from tilewright.language.shared_words import share_words
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlineargather import QLinearGather

WORDS, WIDTH = 24, 8
RANDOM = np.random.default_rng(5)
FLOATS = RANDOM.standard_normal((WORDS, WIDTH)).astype(np.float32)
IDS, ROW = np.array([[0, 3, 23]], np.int32), RANDOM.integers(-99, 99, (1, 1, WIDTH))


def network(table: Array, weights: Array, mul: Array | None = None) -> Graph:
    builder = Builder("words")
    ids = builder.input("ids", TensorType("int32", (1, 3)))
    row = builder.input("row", TensorType("float32" if mul is None else "int8", (1, 1, WIDTH)))
    builder.output(builder.add(Gather(0), [builder.constant(table, "table"), ids], name="lookup")[0])
    head, op = [row, builder.constant(weights, "weights")], MatMul()
    if mul is not None:
        head, op = [*head, "", builder.constant(mul, "mul")], MatMul(requant=full_range(30, "int16"))
    builder.output(builder.add(op, head, name="head")[0])
    return builder.build()


def integers(channels: Array) -> Graph:
    """A table of 16 bits and a head of 8, with a factor for each word, of one matrix; some channels moved."""
    moved = FLOATS * channels
    steps = np.abs(moved).max(1, keepdims=True) / 127
    mul = np.round(steps[:, 0] / steps.max() * 2**29).astype(np.int32)
    table = np.round(FLOATS / np.abs(FLOATS).max() * 32767).astype(np.int16)
    return network(table, np.round(moved / steps).astype(np.int8).T, mul)


def results(graph: Graph) -> list[Array]:
    values = evaluate(graph, {"ids": IDS, "row": ROW.astype(graph.types["row"].element)})
    return [values[name] for name in graph.outputs]


@pytest.mark.fast
def test_floats_are_one_array() -> None:
    graph = network(FLOATS, FLOATS.T.copy())
    shared, is_tied = share_words(graph)
    assert is_tied
    assert [array.shape for array in shared.constants.values()] == [(WORDS, WIDTH)]
    for found, wanted in zip(results(shared), results(graph), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.fast
@pytest.mark.parametrize("channels", [np.ones(WIDTH), RANDOM.uniform(0.4, 2.5, WIDTH)])
def test_integers_are_one_array(channels: Array) -> None:
    graph = integers(channels)
    shared, is_tied = share_words(graph)
    assert is_tied
    assert isinstance(shared.nodes[0].op, QLinearGather)
    sizes = sorted(array.nbytes for array in shared.constants.values())
    assert sizes == [4 * WIDTH, 4 * WORDS, WORDS * WIDTH], "factors of channels, those of words, one matrix"
    (rows, scores), (wanted, same) = results(shared), results(graph)
    np.testing.assert_array_equal(scores, same)
    # Half a step of the head's bytes, and half of one of 16 bits.
    half = np.abs(FLOATS * channels).max(1)[IDS][..., None] / 127 / channels / np.abs(FLOATS).max() * 32767 / 2
    assert (np.abs(rows.astype(float) - wanted) <= 1.1 * half + 1).all()


@pytest.mark.fast
def test_rows_may_keep_their_bits() -> None:
    graph = integers(np.ones(WIDTH))
    assert share_words(graph, has_fine_rows=True) == (graph, True)
    assert share_words(network(FLOATS, FLOATS.T.copy()), has_fine_rows=True)[0].constants.keys() == {"weights_2"}


@pytest.mark.fast
def test_other_weights_stay_apart() -> None:
    graph = integers(np.ones(WIDTH))
    others = FLOATS + 0.05 * np.sign(RANDOM.standard_normal(FLOATS.shape)).astype(np.float32)
    assert share_words(network(FLOATS, others.T.copy()))[1] is False
    weights, mul = graph.constants["weights"], graph.constants["mul"]
    assert not share_words(network(graph.constants["table"][::-1].copy(), weights, mul))[1]
    assert not share_words(network(graph.constants["table"], weights[::-1].copy(), mul))[1]


@pytest.mark.in_turns(5)
def test_bytes_that_are_there_twice_are_said(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = talkers.save(tmp_path_factory.mktemp("talkers") / "fox")
    quantising = Quantising(talkers.TEXT, learn_rounding=False, samples=3)
    lm = LanguageModel.load(folder).compile(quantise=quantising, context=40, block=4)
    assert list(lm.generate("A fox", 2))
    assert lm.last is not None
    found = lm.last.weights
    assert (found.second_of_prefill, found.second_of_words) == (0, 0)
    words = [node.inputs for node in lm.compiled.modes.decode.schedule.graph.nodes if "ids" in node.inputs]
    constants = lm.compiled.modes.decode.schedule.graph.constants
    assert [constants[inputs[0]].dtype for inputs in words] == [np.int8]
    assert lm.last.as_dict()["weights"]["total"] == found.total > constants[words[0][0]].nbytes
