"""The table of 1 / (1 + x) of a softmax of 16 bits in Vela's streams, as TensorFlow Lite has it: two of Vela's 513
entries are one off."""

from __future__ import annotations

from functools import cache

import numpy as np

from tilewright.frontends.tflite.file import Subgraph
from tilewright.frontends.tflite.words import softmax_tables
from tilewright.ir.types import Array
from tilewright.targets.ethos_u.tables import numbers_in, table_places, words_of

NEAREST = 1
"""Steps that Vela's entries may be off."""


def has_reciprocals(graph: Subgraph) -> bool:
    return any(one.kind == "SOFTMAX" and graph.tensors[one.inputs[0]].dtype == "int16" for one in graph.operators)


def put_reciprocals(words: Array, constants: Array) -> None:
    """Into the constants, where the stream takes tables from."""
    exact = _exact()
    for at, size in table_places(words):
        found = constants[at : at + size]
        if size == exact.size and np.abs(numbers_in(found) - numbers_in(exact)).max() <= NEAREST:
            found[:] = exact


@cache
def _exact() -> Array:
    _, shares = softmax_tables()
    return words_of(shares)
