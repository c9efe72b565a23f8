"""The processor of a computer: vectors as wide as it has them (`--cpu`), constants in the order that they want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tilewright.ir.graph import Graph, Node
from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.rejoin_slices import REJOIN_SLICES
from tilewright.passes.shorten_constants import SHORTEN_TABLES
from tilewright.passes.widen_weights import WIDEN_WEIGHTS
from tilewright.target.agents import Agents
from tilewright.target.caches import caches_of
from tilewright.target.costs import Costs
from tilewright.target.kept_costs import kept, kept_file
from tilewright.target.memory import Memory
from tilewright.target.processors import NATIVE, Vectors, vectors_of
from tilewright.target.runner import HostProcess
from tilewright.target.target import Engine, Offer, Target
from tilewright.targets.cpu import block_products, cached_attention, floats, integers
from tilewright.targets.generic import target as generic

FUSED = "-ffp-contract=fast"
"""A product and a sum are one instruction, rounded once; some compilers do that only if they are told."""
CACHE_LINE = 64
COSTS = Path(__file__).parent / "costs.json"
"""Of a Neoverse-N1."""


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    """With constants in the order of the vectors."""
    return [
        *block_products.forms(vectors, graph, node),
        *floats.forms(vectors, graph, node),
        *integers.forms(vectors, graph, node),
    ]


def for_processor(name: str) -> Target:
    vectors, measured = vectors_of(name), kept() if name == NATIVE else {}
    own = (
        *block_products.kernels(vectors),
        *cached_attention.KERNELS,
        *floats.kernels(vectors),
        *integers.kernels(vectors),
    )
    return replace(
        generic.TARGET,
        name="cpu",
        summary="x86-64, AArch64 and RISC-V computers; a library in this process by Program.load()",
        engines=(Engine("cpu", (*own, *generic.KERNELS), forms=partial(forms, vectors)),),
        passes=(
            REJOIN_SLICES,
            CHANNELS_SECOND,
            WIDEN_WEIGHTS,
            SHORTEN_TABLES,
            cached_attention.STORE_CACHES,
            *floats.LAYOUTS,
            *integers.passes(vectors),
        ),
        folder=Path(__file__).parent,
        bases=(generic.TARGET.folder,),
        flags=(*generic.TARGET.flags, FUSED, *vectors.flags),
        agents=Agents(has_vectors=True),
        has_short_caches=True,
        runner=HostProcess(name),
        for_processor=for_processor,
        memories=(Memory("arena", None, CACHE_LINE, caches=caches_of(name).with_prices(measured.get("caches", {}))),),
        costs=Costs.read(COSTS).with_kernels(measured.get("kernels", {})),
        kept_costs=kept_file,
    )


TARGET = for_processor(NATIVE)
