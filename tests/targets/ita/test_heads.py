"""Attention with several heads: what becomes ITA's, whatever way heads are cut apart and joined."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.ita.transformers import attention_model, encoder_model
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.pipeline import import_model, stage
from tilewright.target.settings import Settings

RNG = np.random.default_rng(6)


def lowered(model: object, engine: str) -> Graph:
    settings = Settings(engines=(engine,), numerics="hardware")
    graph = stage(import_model(model), "snitch", "lowered", settings=settings)
    assert isinstance(graph, Graph)
    return graph


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes if not node.op.view]


def same(model: object, x: np.ndarray) -> bool:
    """Whether ITA's operators give what those of the cluster do."""
    one, other = (lowered(model, engine) for engine in ("all", "cluster"))
    a, b = (evaluate(graph, {"x": x})[graph.outputs[0]] for graph in (one, other))
    return bool(np.array_equal(a, b))


@pytest.mark.parametrize("heads", [1, 2])
def test_heads_that_fill_tiles_stay_in_them(heads: int) -> None:
    model = attention_model(128, 64, heads, 64)
    made = kinds(lowered(model, "ita"))
    assert sorted(made) == sorted(["Identity", *["ItaLinear"] * 4, "ItaAttend"])
    assert same(model, RNG.integers(-128, 128, (1, 128, 64)).astype(np.int8))


def test_narrow_heads_are_padded() -> None:
    model = attention_model(64, 64, 2, 32)
    made = kinds(lowered(model, "all"))
    assert made.count("ItaAttend") == 1
    assert "Transpose" in made
    assert same(model, RNG.integers(-128, 128, (1, 64, 64)).astype(np.int8))


@pytest.mark.in_turns(3)
def test_a_layer_of_an_encoder() -> None:
    """Sums stay in tiles; only the normalisation is not ITA's."""
    model = encoder_model(64, 128, 2, 64, 192)
    made = kinds(lowered(model, "all"))
    others = [kind for kind in made if not kind.startswith("Ita")]
    assert others == ["Identity", "QLinearRowNorm"]
    assert made.count("ItaSum") == 2
    assert made.count("ItaTiles") == 1
    assert same(model, RNG.integers(-128, 128, (1, 64, 128)).astype(np.int8))
