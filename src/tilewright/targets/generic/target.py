"""The generic target: plain C99 on one core, one arena. Every other target falls back to these kernels."""

from __future__ import annotations

from pathlib import Path

from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.target.memory import Memory
from tilewright.target.target import Engine, Target
from tilewright.targets.generic import (
    blocks,
    classifiers,
    dialect,
    elementwise,
    gradients,
    linear,
    movement,
    plane_products,
    quantised,
    recurrent,
    reductions,
)

KERNELS = (
    *elementwise.KERNELS,
    *linear.KERNELS,
    *gradients.KERNELS,
    *blocks.KERNELS,
    *movement.KERNELS,
    *reductions.KERNELS,
    *quantised.KERNELS,
    *dialect.KERNELS,
    *recurrent.KERNELS,
    *classifiers.KERNELS,
)

"""Those that other targets have as well: where memory is scarce, gradients are computed without a copy of the image."""

TARGET = Target(
    name="generic",
    summary="portable C99 on one core, caller-supplied arena",
    engines=(Engine("cpu", (*plane_products.KERNELS, *KERNELS)),),
    memories=(Memory("arena", None),),
    passes=(CHANNELS_SECOND, SHORTEN_CONSTANTS),
    has_lengths=True,
    folder=Path(__file__).parent,
    flags=("-O3",),
    libraries=("m",),
)
