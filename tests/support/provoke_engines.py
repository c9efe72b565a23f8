"""What engines and accelerators say of networks that they do not take: graphs of whole numbers in which one thing is
changed are mapped to targets that have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from tilewright.ir.graph import Graph, Node, verify
from tilewright.target.settings import Settings

Damage = Callable[[], object]
Seed = tuple[str, Iterator[Damage]]
HARDWARE = Settings(numerics="hardware")
ENGINES = (
    ("snitch", HARDWARE), ("itapool", HARDWARE), ("cortex-m55+u55-128", Settings()), ("siracusa", HARDWARE),
    ("snitch", Settings()), ("itapool", Settings()), ("cortex-m33+u65-256", Settings(optimise="ram")),
)  # fmt: skip
ATTENTIONS = ((64, 128, 3, 24, 7), (64, 64, 1, 64, 0), (96, 64, 2, 64, 0), (64, 1024, 1, 64, 0), (576, 64, 1, 64, 3))
"""Tokens, columns, heads, columns of a head, zero point."""
MOST = 60
"""Damages of one network for one target."""


def damaged_networks(seed: int = 1) -> Iterator[Seed]:
    """Round by round, so that each network and each target had a turn when time is up."""
    random, graphs = Random(seed), list(_graphs())
    while True:
        for name, graph in graphs:
            for target, settings in ENGINES:
                changes = list(islice(_changes(graph, random), MOST))
                yield f"{name} on {target}", (_mapping(one, target, settings) for one in [graph, *changes])


def _mapping(graph: Graph, target: str, settings: Settings) -> Damage:
    from tilewright import pipeline

    return lambda: pipeline.stage(graph, target, "mapped", settings=settings)


def _graphs() -> Iterator[tuple[str, Graph]]:
    from benchmarks import fuzz_tflite

    from tests.support import stand_ins
    from tests.targets.ita import transformers
    from tilewright import pipeline

    made: list[tuple[str, Any]] = [
        *((f"attention {sizes}", transformers.attention_model(*sizes)) for sizes in ATTENTIONS),
        ("encoder", transformers.encoder_model(64, 64, 1, 64, 128)),
        ("feed forward", transformers.feed_forward_model(64, 128, 3)),
        ("classifier", stand_ins.quantised_classifier()),
        ("residual", stand_ins.quantised_residual()),
        *((name, data) for name, data in fuzz_tflite.seeds(with_networks=False) if name.startswith("int")),
    ]
    for name, model in made:
        try:
            yield name, pipeline.import_model(model)
        except Exception:
            continue


def _changes(graph: Graph, random: Random) -> Iterator[Graph]:
    """The graph with one attribute or one constant that is another one, where that is a graph still."""
    from tests.support.provoke import wrong_values

    nodes = list(graph.nodes)
    while nodes:
        node = random.choice(nodes)
        fields = [field for field in dataclasses.fields(node.op) if field.init]
        constants = [name for name in node.inputs if name in graph.constants]
        chosen = random.randrange(len(fields) + len(constants) + 1)
        try:
            if chosen < len(fields):
                name = fields[chosen].name
                value = random.choice(list(wrong_values(getattr(node.op, name))) or [None])
                yield verify(_with_node(graph, node, dataclasses.replace(node.op, **{name: value})))
            elif constants:
                yield verify(_with_constant(graph, random.choice(constants), random))
        except Exception:
            continue


def _with_node(graph: Graph, node: Node, op: Any) -> Graph:
    others = tuple(dataclasses.replace(one, op=op) if one is node else one for one in graph.nodes)
    return dataclasses.replace(graph, nodes=others)


def _with_constant(graph: Graph, name: str, random: Random) -> Graph:
    array = graph.constants[name]
    draw = np.random.default_rng(random.randrange(2**32))
    if np.issubdtype(array.dtype, np.integer):
        info = np.iinfo(array.dtype)
        new = draw.integers(max(info.min, -(2**31)), min(info.max, 2**31 - 1), array.shape).astype(array.dtype)
    else:
        new = (array * draw.choice([0.01, 1.7, 40.0, -1.0])).astype(array.dtype)
    return dataclasses.replace(graph, constants={**graph.constants, name: new})
