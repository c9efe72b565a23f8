"""ITAPool's ITAs as an engine beside the cores."""

from __future__ import annotations

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.target.target import Engine
from tilewright.targets.ita.engine import peak
from tilewright.targets.ita.pool.heads import HEADS_ON_ITAPOOL, attended
from tilewright.targets.ita.pool.kernels import ITAS, KERNELS
from tilewright.targets.ita.pool.products import PRODUCTS_ON_ITAPOOL, pool_product

ALIGNMENT = 64
"""What an ITA reads at once: a word of each bank of a tile."""


def explain_skipped(graph: Graph, node: Node) -> str:
    """Why ITAs do not compute a node that their passes have seen."""
    reasons = []
    for take in (attended, pool_product):
        try:
            take(graph, node)
        except Refusal as refusal:
            reasons.append(refusal.what)
    return reasons[-1] if reasons else "it is not part of a pattern that ITA computes"


ENGINE = Engine(
    "ita",
    KERNELS,
    passes=(HEADS_ON_ITAPOOL, PRODUCTS_ON_ITAPOOL),
    explain_skipped=explain_skipped,
    base_alignment=ALIGNMENT,
    peak=peak(ITAS),
)
