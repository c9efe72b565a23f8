"""A GPU beside the processor of a computer: an engine with a memory of its own, whose kernels its driver launches.

Layers that it has no kernel for run on the processor, and copies between the two are layers of the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import HALF
from tilewright.ir.op import Op
from tilewright.ops.fusedattention import FusedAttention
from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.shorten_constants import SHORTEN_TABLES
from tilewright.target.kernel import Types
from tilewright.target.memory import Memory
from tilewright.target.runner import GpuProcess
from tilewright.target.target import Engine, Target
from tilewright.targets.generic import target as generic
from tilewright.targets.gpu import (
    attention,
    block_products,
    byte_rows,
    depthwise,
    fast,
    few_bits,
    few_rows,
    plain,
    projections,
    quantised_pixels,
    rotate,
    short_windows,
)
from tilewright.targets.gpu.costs import processor_costs, with_costs
from tilewright.targets.gpu.depthwise import TURN_DEPTHWISE
from tilewright.targets.gpu.folded_taps import FOLD_TAPS
from tilewright.targets.gpu.padded_channels import PAD_CHANNELS
from tilewright.targets.gpu.projections import JOIN_PROJECTIONS
from tilewright.targets.gpu.quantised_pixels import QUANTISE_PIXELS
from tilewright.targets.gpu.rotate import FUSE_ROTATIONS
from tilewright.targets.gpu.transfers import TRANSFERS

ALIGNMENT = 64
"""Of tensors in the arena: what several items read at once begins at such an address."""


def no_kernel(graph: Graph, node: Node) -> str:
    return f"it has no kernel for {node.op.kind}"


def without_cache(op: Op, types: Types) -> str | None:
    return None if "position" in types else "the GPU computes its products and its softmax"


CPU_KERNELS = tuple(
    replace(kernel, unsupported_reason=without_cache) if kernel.op is FusedAttention else kernel
    for kernel in generic.KERNELS
)
"""Attention that the GPU has no kernel for stays the products and the softmax that it has, rather than one layer of the
processor; but for that over a cache, which is one operator from the beginning."""

COMPUTING = (
    *few_rows.KERNELS,
    *block_products.KERNELS,
    *short_windows.KERNELS,
    *byte_rows.KERNELS,
    *fast.KERNELS,
    *depthwise.KERNELS,
    *few_bits.KERNELS,
    *attention.KERNELS,
    *rotate.KERNELS,
    *projections.KERNELS,
    *quantised_pixels.KERNELS,
    *plain.KERNELS,
)
KERNELS = (TRANSFERS.into, TRANSFERS.out_of, *map(with_costs, COMPUTING))
GPU = Engine(
    "gpu",
    KERNELS,
    passes=(FUSE_ROTATIONS,),
    late_passes=(*fast.PASSES, TURN_DEPTHWISE, *attention.PASSES, JOIN_PROJECTIONS),
    stored_passes=(FOLD_TAPS, PAD_CHANNELS, QUANTISE_PIXELS),
    explain_skipped=no_kernel,
    transfers=TRANSFERS,
)

TARGET = Target(
    name="gpu",
    summary="GPUs by their driver alone (NVIDIA's, or OpenCL); without one the same kernels as C on this machine",
    engines=(GPU, Engine("cpu", CPU_KERNELS)),
    memories=(Memory("arena", None, ALIGNMENT),),
    passes=(CHANNELS_SECOND, SHORTEN_TABLES),
    folder=Path(__file__).parent,
    bases=(generic.TARGET.folder,),
    half_floats=HALF,
    runner=GpuProcess(capability=80),
    flags=("-O3",),
    libraries=("m", "dl", "pthread"),
    costs=processor_costs(),
)
