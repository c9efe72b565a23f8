"""ITA as an engine of the Snitch cluster: what it computes, and the way of a graph there."""

from __future__ import annotations

from functools import partial

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.identity import Identity
from tilewright.target.kernel import Types
from tilewright.target.peak import Peak
from tilewright.target.target import Engine
from tilewright.targets.generic import target as generic
from tilewright.targets.ita.gelu import GELU_IN_PRODUCTS
from tilewright.targets.ita.heads import ATTENTION_ON_ITA
from tilewright.targets.ita.kernels import KERNELS
from tilewright.targets.ita.products import PRODUCTS_ON_ITA, STAY_IN_TILES, product
from tilewright.targets.ita.sums import SUMS_ON_ITA
from tilewright.targets.ita.views import TILES_BY_TRANSFERS

ALIGNMENT = 128
"""What ITA's port reads and writes at once."""


def explain_skipped(graph: Graph, node: Node) -> str:
    """Why ITA does not compute a node that its passes have seen."""
    try:
        product(graph, node)
    except Refusal as refusal:
        return refusal.what
    return "it is not part of a pattern that ITA computes"


PASSES = (ATTENTION_ON_ITA, PRODUCTS_ON_ITA, GELU_IN_PRODUCTS, SUMS_ON_ITA, STAY_IN_TILES, TILES_BY_TRANSFERS)
COPY = next(kernel for kernel in generic.KERNELS if kernel.op is Identity)
"""Of what transfers bring for several layers, where they cannot."""


def peak(count: int) -> Peak:
    """Of so many ITAs: 16 dot products of 64 bytes each in a cycle."""
    return Peak(partial(_macs, count), "ITA: 16 dot products of 64 bytes in a cycle")


def _macs(count: int, op: Op, types: Types, cores: int) -> float:
    return 16.0 * 64 * count


ENGINE = Engine(
    "ita", (*KERNELS, COPY), passes=PASSES, explain_skipped=explain_skipped, base_alignment=ALIGNMENT, peak=peak(1)
)
