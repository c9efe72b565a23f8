"""Channels of keys and values brought to like sizes before a checkpoint is quantised, which changes nothing in floats.

A cache has one scale for all of its bytes. What keys are divided by, channel by channel, queries are multiplied by;
pairs that are turned together have one factor. What values are divided by, the columns of the output product are
multiplied by. So every channel has its own scale in effect, and no kernel knows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.frontends.checkpoint.config import Checkpoint, Config
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

SAMPLES = 4
"""Pieces of text that ranges are seen on."""


def levelled(checkpoint: Checkpoint, graph: Graph, samples: Mapping[str, Array]) -> Checkpoint:
    """With factors from what a float graph of the checkpoint computes on samples."""
    config, weights = checkpoint.config, checkpoint.floats()
    seen = _reaches(config, graph, samples)
    for number in range(config.layers):
        layer = f"layer{number}.attention"
        if not config.qk_norm:
            query = _of_groups(config, seen[f"{layer}.query"])
            factor = _factor(_of_pairs(config, seen[f"{layer}.key"]), _of_pairs(config, query))
            _divide(weights, f"{layer}.key", factor)
            _divide(weights, f"{layer}.query", 1 / _of_heads(config, factor))
        columns = np.abs(weights[f"{layer}.output.weight"]).max(0).reshape(config.heads, config.head)
        factor = _factor(seen[f"{layer}.value"], _of_groups(config, columns))
        _divide(weights, f"{layer}.value", factor)
        grown = weights[f"{layer}.output.weight"] * _of_heads(config, factor).reshape(1, -1)
        weights[f"{layer}.output.weight"] = grown.astype(np.float32)
    return Checkpoint(config, weights)


def _reaches(config: Config, graph: Graph, samples: Mapping[str, Array]) -> dict[str, Array]:
    """The largest magnitude of each channel of each head: [heads, elements of one]."""
    names = {
        f"layer{number}.attention.{part}": (
            ".heads" if part == "value" or config.rotary_of(number) is None else ".rotated"
        )
        for number in range(config.layers)
        for part in ("query", "key", "value")
    }
    found: dict[str, Array] = {}
    count = len(next(iter(samples.values())))
    for at in np.linspace(0, count - 1, min(SAMPLES, count)).astype(int):
        values = evaluate(graph, {name: array[at] for name, array in samples.items()})
        for name, kind in names.items():
            reach = np.abs(values[name + kind]).max((0, 1))
            found[name] = np.maximum(found.get(name, reach), reach)
    return found


def _of_pairs(config: Config, reach: Array) -> Array:
    """The same for both elements that are turned together."""
    if config.rotary is None:
        return reach
    half = config.head // 2
    both = np.maximum(reach[:, :half], reach[:, half:])
    return np.concatenate([both, both], 1)


def _of_groups(config: Config, reach: Array) -> Array:
    """Of all heads that share keys and values."""
    return np.asarray(reach.reshape(config.kv_heads, -1, config.head).max(1))


def _of_heads(config: Config, factor: Array) -> Array:
    return np.repeat(factor, config.heads // config.kv_heads, 0)


def _factor(reach: Array, other: Array) -> Array:
    """Half of the difference goes to the other side; 1 in the middle."""
    alive = (reach > 0) & (other > 0)
    roots = np.sqrt(np.where(alive, reach, 1.0) / np.where(alive, other, 1.0))
    middle = np.exp(np.log(roots[alive]).mean()) if alive.any() else 1.0
    return np.where(alive, roots / middle, 1.0)


def _divide(weights: dict[str, Array], name: str, factor: Array) -> None:
    for kind in ("weight", "bias"):
        value = weights.get(f"{name}.{kind}")
        if value is not None:
            rows = factor.reshape(-1, *(1,) * (value.ndim - 1))
            weights[f"{name}.{kind}"] = (value / rows).astype(np.float32)
