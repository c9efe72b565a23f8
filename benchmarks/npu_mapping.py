"""Every assignment of nodes to the NPU or the cores of Siracusa, simulated, against the one that the mapper chooses.

    python benchmarks/npu_mapping.py [--network NAME] [--list] [--jobs N]

Five small integer networks, each with a few nodes that both could compute. Fails where the mapper's choice takes over
5 % more cycles than the best assignment.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.dialect import Model, one_element, softmax

import tilewright as tw
from tilewright import pipeline
from tilewright.program import Program
from tilewright.target.settings import Settings

NPU, CORES = "neureka", "cluster"
MOST = 1.05
"""Of the cycles of the best assignment, what the mapper's may take."""


# ---- networks -------------------------------------------------------------------------------------------------------


def depthwise_separable() -> tuple[Model, str]:
    """Blocks of a keyword spotter."""
    model, x = _image(16, 12, 10)
    x = _conv(model, x, 16, 1)
    for _ in range(2):
        x = _conv(model, _conv(model, x, 16, 3, group=16), 16, 1)
    return model, x


def residual() -> tuple[Model, str]:
    """Two blocks, the second with strides and a convolution beside it."""
    model, x = _image(16, 14, 14)
    x = _joined(model, _conv(model, _conv(model, x, 16, 3), 16, 3), x)
    branch = _conv(model, _conv(model, x, 32, 3, 2), 32, 3)
    return model, _joined(model, branch, _conv(model, x, 32, 1, 2))


def perceptron() -> tuple[Model, str]:
    """Layers of one row, wide and narrow."""
    model = Model(3, {"x": np.random.default_rng(3).integers(-128, 127, (1, 128), endpoint=True)})
    x = "x"
    for columns in (64, 16, 8, 32, 128):
        x = model.linear(x, columns)
    return model, x


def attention() -> tuple[Model, str]:
    """One head over 24 tokens, and a layer of its result."""
    tokens = np.random.default_rng(4).integers(-128, 127, (1, 24, 32), endpoint=True)
    model = Model(4, {"x": tokens})
    query, key, value = (model.linear("x", 32) for _ in range(3))
    scores = model.requant(model.matmul(query, model.transpose(key, 0, 2, 1)))
    attributes = {"log2": 31, "coeffA": 1, "coeffB": 43, "coeffC": 950, "n_levels": 256}
    shares = softmax(model.values[scores], 31, 1, 43, 950, 256)
    found = model.node("iSoftmax", [scores], shares, **{name: one_element(v) for name, v in attributes.items()})
    x = _joined(model, model.linear(model.requant(model.matmul(found, value)), 32), "x")
    return model, model.linear(x, 64)


def mixed() -> tuple[Model, str]:
    """With layers that N-EUREKA refuses: groups, and a large depthwise window."""
    model, x = _image(8, 12, 12)
    x = _conv(model, x, 16, 3)
    x = _conv(model, x, 16, 3, group=4)
    x = _conv(model, x, 24, 1)
    x = _conv(model, x, 24, 5, group=24)
    x = _conv(model, x, 24, 3, 2, group=24)
    x = _conv(model, x, 8, 1)
    x = model.node("Flatten", [x], model.values[x].reshape(1, -1), axis=1)
    return model, model.linear(x, 10)


NETWORKS: Mapping[str, Callable[[], tuple[Model, str]]] = {
    "depthwise separable": depthwise_separable, "residual": residual, "perceptron": perceptron, "attention": attention,
    "mixed": mixed,
}  # fmt: skip


def _image(channels: int, height: int, width: int) -> tuple[Model, str]:
    values = np.random.default_rng(channels).integers(-128, 127, (1, channels, height, width), endpoint=True)
    return Model(channels, {"x": values}), "x"


def _conv(model: Model, x: str, filters: int, kernel: int, stride: int = 1, group: int = 1) -> str:
    return model.requant(model.conv(x, filters, kernel, stride, group), (filters, 1, 1))


def _joined(model: Model, a: str, b: str) -> str:
    return model.requant(model.add(a, b), scale=0.6)


# ---- assignments ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assigned:
    engines: tuple[str, ...]
    """Of the nodes that both could compute, in order."""
    cycles: int

    def __str__(self) -> str:
        return "".join("N" if engine == NPU else "c" for engine in self.engines)


@dataclass(frozen=True)
class Compared:
    name: str
    chosen: Assigned
    tried: Sequence[Assigned]

    @property
    def best(self) -> Assigned:
        return min(self.tried, key=lambda one: one.cycles)

    @property
    def ratio(self) -> float:
        """What the choice takes, of what the best takes."""
        return self.chosen.cycles / self.best.cycles

    def only(self, engine: str) -> Assigned:
        return next(one for one in self.tried if set(one.engines) == {engine})


def compare(name: str, jobs: int = 1) -> Compared:
    nodes = _mappable(name)
    chosen = _cycles(name, nodes, ())
    assignments = [tuple(zip(nodes, engines, strict=True)) for engines in _all_engines(len(nodes))]
    with ProcessPoolExecutor(jobs) as pool:
        tried = list(pool.map(partial(_cycles, name, nodes), assignments))
    return Compared(name, chosen, tried)


def _all_engines(count: int) -> list[tuple[str, ...]]:
    return list(itertools.product((NPU, CORES), repeat=count))


def _mappable(name: str) -> list[str]:
    model, output = NETWORKS[name]()
    graph = pipeline.import_model(model.proto(output), example_inputs=model.inputs)
    mapped = pipeline.stage(graph, "siracusa", "mapped")
    computed = [node for node in mapped.graph.nodes if node.key in mapped.choices]
    return [node.name for node in computed if {c.engine.name for c in mapped.all_choices(node)} == {NPU, CORES}]


def _cycles(name: str, nodes: Sequence[str], placed: tuple[tuple[str, str], ...]) -> Assigned:
    """Ends where an output is not what the network means."""
    model, output = NETWORKS[name]()
    settings = Settings(placed=placed, time_limit=1.0)
    program = tw.compile(model.proto(output), target="siracusa", settings=settings, example_inputs=model.inputs)
    check = program.check(model.inputs, {output: model.values[output]})
    if not check.agrees:
        raise SystemExit(f"{name} {placed}: {check.first_difference}")
    return Assigned(_engines(program, nodes), check.result.cycles or 0)


def _engines(program: Program, nodes: Sequence[str]) -> tuple[str, ...]:
    """Copies for a layout have the name of the node that they are for."""
    found = {(step.option.node.name, step.option.engine) for step in program.plan.steps}
    return tuple(NPU if (name, NPU) in found else CORES for name in nodes)


def print_table(found: Sequence[Compared]) -> None:
    table = Table(title="cycles of every assignment (N: NPU, c: cores)")
    for name in ("network", "assignments", "chosen", "cycles", "best", "cycles", "ratio", "NPU alone", "cores alone"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for one in found:
        alone = [f"{one.only(engine).cycles:,}" for engine in (NPU, CORES)]
        table.add_row(
            one.name, str(len(one.tried)), str(one.chosen), f"{one.chosen.cycles:,}", str(one.best),
            f"{one.best.cycles:,}", f"{one.ratio:.3f}", *alone,
        )  # fmt: skip
    Console(width=130).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=list(NETWORKS))
    parser.add_argument("--list", action="store_true", help="also print every assignment, the best first")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    found = [compare(name, options.jobs) for name in ([options.network] if options.network else NETWORKS)]
    print_table(found)
    if options.list:
        for one in found:
            for assigned in sorted(one.tried, key=lambda tried: tried.cycles):
                print(f"{one.name}: {assigned} {assigned.cycles:,}")
    if any(one.ratio > MOST for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
