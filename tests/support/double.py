"""Graphs in double precision: what operators say of float32, said of float64. Derivatives are checked with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.cast import Cast

Arrays = Mapping[str, Array]


class _Numpy:
    """numpy, but for its float32."""

    float32 = np.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _modules() -> list[Any]:
    names = [name for name in sys.modules if name.startswith(("tilewright.ops.", "tilewright.ir."))]
    return [sys.modules[name] for name in names if getattr(sys.modules[name], "np", None) is np]


@contextmanager
def float32_is_double() -> Iterator[None]:
    """Inside, the definitions of operators compute floats in 64 bits and leave them so."""
    patched = _modules()
    for module in patched:
        module.np = _Numpy()
    try:
        yield
    finally:
        for module in patched:
            module.np = np


def evaluated(graph: Graph, inputs: Arrays) -> dict[str, Array]:
    """All tensors of a graph, floats in double precision; states have their first values."""
    values = {**graph.constants, **{state.before: state.initial for state in graph.states}, **inputs}
    values = {name: _wide(value) for name, value in values.items()}
    with float32_is_double(), np.errstate(all="ignore"):
        for node in graph.nodes:
            operands = [values[name] if name else None for name in node.inputs]
            results = operands[0].astype(np.float64) if node.op == Cast() else node.op.numpy(*operands)
            results = results if isinstance(results, tuple) else (results,)
            made = zip(node.outputs, results, strict=False)
            values |= {name: _wide(np.asarray(value)) for name, value in made if name}
    return values


def _wide(value: Array) -> Array:
    return value.astype(np.float64) if value.dtype.kind == "f" else value
