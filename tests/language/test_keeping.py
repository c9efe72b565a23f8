"""Quantised decoders in the cache folder: the second one is the first, to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support import talkers
from tilewright import pipeline
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.language import keeping
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.passes import apply
from tilewright.quantiser.quantise import Options, quantise

TOKENS = 6
OPTIONS = Options(wide=True)
RANDOM = np.random.default_rng(5)


def decoder(folder: Path) -> Graph:
    return pipeline.import_model(decoder_model(read_checkpoint(talkers.save(folder)), TOKENS))


def small() -> Graph:
    """Whatever takes no time."""
    builder = Builder("small")
    x = builder.input("x", TensorType("float32", (1, 4)))
    weights = builder.constant(np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6), "weights")
    builder.output(builder(Relu(), [builder(MatMul(), [x, weights], ["product"])[0]], ["y"])[0])
    return builder.build()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Graph]:
    """What was quantised, in a cache folder of its own."""
    found: list[Graph] = []

    def noted(graph: Graph, *given: object, **options: object) -> object:
        quantised = quantise(graph, *given, **options)  # type: ignore[arg-type]
        found.append(quantised.graph)
        return quantised

    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(keeping, "quantise", noted)
    return found


def tokens() -> dict[str, Array]:
    return {"ids": RANDOM.integers(0, 256, (3, 1, TOKENS), np.int32), "position": np.zeros((3, 1), np.int32)}


def samples(seed: int = 0) -> dict[str, Array]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 1, 4)).astype(np.float32)}


def results(graph: Graph, given: dict[str, Array]) -> list[bytes]:
    """All that the integer network computes."""
    meaning = apply(graph, pipeline.QUANTISING)
    values = evaluate(meaning, {name: array[0] for name, array in given.items()})
    return [values[node.outputs[0]].tobytes() for node in meaning.nodes]


@pytest.mark.in_turns(5)
def test_a_decoder_is_quantised_once_and_is_the_same_again(made: list[Graph], tmp_path: Path) -> None:
    graph, given = decoder(tmp_path / "model"), tokens()
    first, second = (keeping.quantised(graph, given, OPTIONS)(TOKENS) for _ in range(2))
    assert len(made) == 1
    assert str(first) == str(second)
    assert results(first, given) == results(second, given) == results(made[0], given)


def test_whatever_matters_makes_another_entry(made: list[Graph]) -> None:
    graph = small()
    keeping.quantised(graph, samples(), OPTIONS)(TOKENS)
    keeping.quantised(graph, samples(seed=1), OPTIONS)(TOKENS)
    keeping.quantised(graph, samples(), replace(OPTIONS, choose_ranges=False))(TOKENS)
    weights = graph.constants["weights"] * np.float32(1.01)
    keeping.quantised(replace(graph, constants={**graph.constants, "weights": weights}), samples(), OPTIONS)(TOKENS)
    assert len(made) == 4
    keeping.quantised(graph, samples(seed=1), OPTIONS)(TOKENS)
    assert len(made) == 4


def test_a_damaged_entry_is_made_anew(made: list[Graph], tmp_path: Path) -> None:
    first = keeping.quantised(small(), samples(), OPTIONS)(TOKENS)
    (entry,) = (tmp_path / keeping.FOLDER).iterdir()
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)
    assert str(keeping.quantised(small(), samples(), OPTIONS)(TOKENS)) == str(first)
    assert len(made) == 2


def test_a_cache_folder_that_cannot_be_written_is_done_without(made: list[Graph], tmp_path: Path) -> None:
    (tmp_path / keeping.FOLDER).write_text("a file is in its place")
    first, second = (keeping.quantised(small(), samples(), OPTIONS)(TOKENS) for _ in range(2))
    assert len(made) == 2
    assert str(first) == str(second)
