"""The cores of a PULP cluster as an engine: kernels in XpulpV2, in order of preference, then the portable ones."""

from __future__ import annotations

from tilewright.target.peak import Peak
from tilewright.target.target import Engine
from tilewright.targets.generic import target as generic
from tilewright.targets.pulp import (
    accumulation,
    argmax_matmul,
    arithmetic,
    attention,
    channel_sums,
    dialect,
    elementwise,
    functions,
    gradients,
    linear,
    masked_attention,
    masked_softmax,
    movement,
    packed,
    quantised_softmax,
    recurrent,
    reductions,
    scaled_sum,
    sum_dots,
    tflite_sums,
    wide_rows,
)


def cluster(cores: int, peak: Peak) -> Engine:
    """Of so many cores, with what one of them does in a cycle at best."""
    kernels = (
        *linear.kernels(cores),
        *argmax_matmul.KERNELS,
        *packed.KERNELS,
        *sum_dots.KERNELS,
        *elementwise.kernels(cores),
        *wide_rows.KERNELS,
        *tflite_sums.KERNELS,
        *dialect.KERNELS,
        *attention.kernels(cores),
        *quantised_softmax.KERNELS,
        *masked_softmax.kernels(cores),
        *masked_attention.kernels(cores),
        *arithmetic.KERNELS,
        *scaled_sum.KERNELS,
        *accumulation.KERNELS,
        *channel_sums.kernels(cores),
        *functions.KERNELS,
        *gradients.kernels(cores),
        *movement.KERNELS,
        *reductions.kernels(cores),
        *recurrent.KERNELS,
        *generic.KERNELS,
    )
    return Engine("cluster", kernels, forms=packed.packed_forms, peak=peak)
