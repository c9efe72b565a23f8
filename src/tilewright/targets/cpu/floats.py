"""Kernels of float32: what they take, and the forms of constants that they want."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.graph import Graph, Node
from tilewright.passes import Pass
from tilewright.target.kernel import Kernel
from tilewright.target.processors import Vectors
from tilewright.target.target import Offer

LAYOUTS: tuple[Pass, ...] = ()


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    return []


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    return ()
