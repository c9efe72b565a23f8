"""How far our integers are from ONNX Runtime's, tensor by tensor. Used by tests and by benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

Values = Mapping[str, Array]
STEPS, EQUAL = 1, 0.99
"""What is promised of each layer alone."""


@dataclass
class Tally:
    """How far two computations of quantised tensors are apart, over all samples."""

    largest: dict[str, int] = field(default_factory=dict)
    unequal: dict[str, int] = field(default_factory=dict)
    elements: dict[str, int] = field(default_factory=dict)

    def add(self, names: Iterable[str], found: Values, wanted: Values) -> None:
        for name in names:
            if name in found and name in wanted:
                apart = np.abs(found[name].astype(np.int64) - wanted[name].astype(np.int64))
                self.largest[name] = max(self.largest.get(name, 0), int(apart.max(initial=0)))
                self.unequal[name] = self.unequal.get(name, 0) + int(np.count_nonzero(apart))
                self.elements[name] = self.elements.get(name, 0) + apart.size

    def broken(self, samples: int) -> list[str]:
        """Tensors that are further apart than what is promised."""
        allowed = {name: max(samples, (1 - EQUAL) * count) for name, count in self.elements.items()}
        return [name for name, n in self.unequal.items() if n > allowed[name] or self.largest[name] > STEPS]

    def cells(self) -> list[str]:
        """How many tensors, the largest difference in steps, the worst tensor's and the overall share of equals."""
        if not self.elements:
            return ["0", *["-"] * 3]
        worst = max(self.unequal[name] / self.elements[name] for name in self.elements)
        overall = sum(self.unequal.values()) / sum(self.elements.values())
        return [str(len(self.elements)), str(max(self.largest.values())), f"{1 - worst:.3%}", f"{1 - overall:.4%}"]


def layer_by_layer(graph: Graph, feeds: Values, wanted: Values) -> dict[str, Array]:
    """What each layer makes of ONNX Runtime's results of the layers before."""
    values, made = {**graph.constants, **feeds}, dict[str, Array]()
    for node in graph.nodes:
        results = evaluate_node(graph, node, values)
        found = {name: value for name, value in zip(node.outputs, results, strict=False) if name}
        made |= found
        values |= {name: wanted.get(name, value) for name, value in found.items()}
    return made


def samples_of(path: Path, graph: Graph) -> dict[str, Array]:
    """Inputs with an axis of samples in front: those that lie beside a model and, if it is but one, noise like it."""
    if (path.parent / "inputs.npz").is_file():
        with np.load(path.parent / "inputs.npz") as file:
            # Some files hold the weights after the inputs.
            given = dict(zip(graph.inputs, (file[name] for name in file.files), strict=False))
        return {name: _with_noise(array.astype(graph.types[name].element)) for name, array in given.items()}
    if not path.with_suffix(".npz").is_file():
        raise SystemExit(f"no samples beside {path}: inputs.npz, or {path.stem}.npz with in_0, in_1, ...")
    with np.load(path.with_suffix(".npz")) as file:
        return {graph.inputs[0]: np.stack([file[name] for name in file.files if name.startswith("in_")])}


def _with_noise(first: Array) -> Array:
    noise = np.random.default_rng(0).standard_normal((15, *first.shape)) * first.std() + first.mean()
    others = noise.astype(first.dtype) if first.dtype.kind == "f" else np.broadcast_to(first, noise.shape)
    return np.concatenate([first[None], others])


def sample(samples: Mapping[str, Array], number: int) -> dict[str, Array]:
    """One of them."""
    return {name: array[number] for name, array in samples.items()}
