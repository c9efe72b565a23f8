"""The cores of a PULP cluster as an engine: kernels in XpulpV2, in order of preference, then the portable ones."""

from __future__ import annotations

from tilewright.target.target import Engine
from tilewright.targets.generic import target as generic
from tilewright.targets.pulp import (
    argmax_matmul,
    arithmetic,
    attention,
    dialect,
    elementwise,
    functions,
    linear,
    masked_attention,
    masked_softmax,
    movement,
    packed,
    quantised_softmax,
    recurrent,
    reductions,
    sum_dots,
    tflite_sums,
    wide_rows,
)

KERNELS = (
    *linear.KERNELS,
    *argmax_matmul.KERNELS,
    *packed.KERNELS,
    *sum_dots.KERNELS,
    *elementwise.KERNELS,
    *wide_rows.KERNELS,
    *tflite_sums.KERNELS,
    *dialect.KERNELS,
    *attention.KERNELS,
    *quantised_softmax.KERNELS,
    *masked_softmax.KERNELS,
    *masked_attention.KERNELS,
    *arithmetic.KERNELS,
    *functions.KERNELS,
    *movement.KERNELS,
    *reductions.KERNELS,
    *recurrent.KERNELS,
    *generic.KERNELS,
)

ENGINE = Engine("cluster", KERNELS, forms=packed.packed_forms)
