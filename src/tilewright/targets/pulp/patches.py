"""Convolutions of floats by transformed patches of pixels, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import cast

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.relu import Relu
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.sizes import by_cores, in_c

LEAST_CHANNELS = 12
"""What transforms of patches and filters are worth their time for."""
LEAST_OF_IMAGE = 3
"""The same of an image's channels, with strides of one: their patches are transformed once for all filters."""
MOST_PRODUCTS = 0.8
"""Of those of the definition: whole blocks of four patches may be more."""
SHAPES = (
    (4, 8, 64, 64),
    (24, 24, 12, 12),
    (8, 8, 64, 16),
    (8, 8, 16, 64),
    (16, 16, 32, 16),
    (16, 16, 64, 12),
    (32, 8, 16, 16),
    (16, 16, 64, 16),
    (8, 16, 64, 16),
    (8, 8, 64, 24),
    (12, 12, 48, 24),
    (16, 16, 16, 64),
    (28, 32, 16, 16),
)
"""Height, width, channels and filters of samples."""


@dataclass(frozen=True)
class Patches:
    """Of one dimension: products, results of a patch, and what these take by definition."""

    products: int
    results: int
    by_definition: int

    @property
    def share(self) -> float:
        return (self.products / self.by_definition) ** 2


ONE, TWO, TWO_BY_OPERAND = Patches(6, 4, 12), Patches(5, 2, 6), Patches(5, 4, 6)
"""Strides of one; strides of two; the gradient of these by the operand: `winograd_forms_f32.h`."""


def patches_of(op: Op) -> Patches | None:
    match op:
        case Conv() | ConvInputGrad() | ConvWeightGrad() if {*op.strides} == {1}:
            return ONE
        case Conv() if {*op.strides} == {2}:
            return TWO
        case ConvInputGrad() if {*op.strides} == {2}:
            return TWO_BY_OPERAND
    return None


def unsupported(op: Op, types: Types) -> str | None:
    """Of any of the three."""
    op, found = cast(Conv | ConvInputGrad | ConvWeightGrad, op), patches_of(op)
    filters = types["Y" if isinstance(op, ConvWeightGrad) else "W"].shape
    if found is None or op.groups > 1 or op.spatial(filters) != (3, 3) or {*op.dilations} != {1}:
        return "it has not three by three taps with strides of one or two in one group"
    if not op.channels_last:
        return "it is not channels last"
    result = types["G" if isinstance(op, ConvWeightGrad) else "Y"].shape
    sizes = op.spatial(result)
    patches = result[0] * math.prod(-(-size // found.results) for size in sizes)
    by_definition = (found.by_definition / found.results) ** 2 * result[0] * math.prod(sizes)
    if found.products**2 * -(-patches // 4) * 4 > MOST_PRODUCTS * by_definition:
        return "it has few pixels: whole blocks of patches have more products"
    channels = LEAST_OF_IMAGE if found is ONE and not isinstance(op, ConvInputGrad) else LEAST_CHANNELS
    if filters[0] < LEAST_CHANNELS or filters[-1] < channels:
        return f"it has fewer than {channels} channels or {LEAST_CHANNELS} filters"
    if isinstance(op, ConvWeightGrad) and filters[0] % 4:
        return "filters are no multiple of four"
    return None


def of_stride(stride: int, op: Op, types: Types) -> str | None:
    if {*cast(Conv | ConvInputGrad | ConvWeightGrad, op).strides} != {stride}:
        return f"it has not strides of {stride}"
    return unsupported(op, types)


def multiplied(op: Op, types: Types) -> float:
    """The share of its multiplications that is left."""
    if not isinstance(op, Conv | ConvInputGrad | ConvWeightGrad) or unsupported(op, types) is not None:
        return 1.0
    found = patches_of(op)
    return 1.0 if found is None else found.share


def samples(stride: int) -> Iterator[tuple[Op, list[Array | None]]]:
    strides = (stride, stride)
    for height, width, channels, filters in SHAPES:
        x = np.ones((1, height, width, channels), np.float32)
        g = np.ones((1, height // stride, width // stride, filters), np.float32)
        w = np.ones((filters, 3, 3, channels), np.float32)
        yield Conv(strides, padding=(1,) * 4, channels_last=True), [x, w, None]
        yield ConvInputGrad(strides, padding=(1, 1, 0, 0), size=(height, width), channels_last=True), [g, w]
        yield ConvWeightGrad(strides, padding=(1,) * 4, kernel=(3, 3), channels_last=True), [x, g]


KERNELS = {1: "winograd", 2: "winograd_strided"}
"""Of each stride."""


def convolutions(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return tuple(
        Kernel(
            Conv, f"conv_{name}_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {},
            scratch=by_cores("tw_conv_winograd_scratch", cores), unsupported_reason=partial(of_stride, stride),
            cooperative=True, unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 4},
            work=in_c.work("tw_conv_winograd_work"), header="conv.h", activations=(Relu,),
            samples=partial(samples, stride), instead="conv_blocks_f32.c",
        ) for stride, name in KERNELS.items()
    )  # fmt: skip


def gradients_by_operand(cores: int) -> tuple[Kernel, ...]:
    return tuple(
        Kernel(
            ConvInputGrad, f"conv_input_grad_{name}.c", "G:float32 W:float32 -> Y:float32", {},
            scratch=by_cores("tw_conv_input_grad_winograd_scratch", cores),
            unsupported_reason=partial(of_stride, stride), cooperative=True, unsplit_loops=frozenset({"f", "r", "s"}),
            multiples={"c": 4}, min_tile={"c": LEAST_CHANNELS}, work=in_c.work("tw_conv_input_grad_winograd_work"),
            header="conv_gradient.h", instead="conv_input_grad_blocks.c", samples=partial(samples, stride),
        ) for stride, name in KERNELS.items()
    )  # fmt: skip


def gradient_by_filters(cores: int) -> Kernel:
    """With strides of one: with others blocks are as fast."""
    return Kernel(
        ConvWeightGrad, "conv_weight_grad_winograd.c", "X:float32 G:float32 -> Y:float32", {},
        scratch=by_cores("tw_conv_weight_grad_winograd_scratch", cores), unsupported_reason=partial(of_stride, 1),
        cooperative=True, unsplit_loops=frozenset({"n", "y", "x", "r", "s"}), multiples={"f": 4, "c": 4},
        min_tile={"f": 4, "c": 4}, work=in_c.work("tw_conv_weight_grad_winograd_work"), header="conv_gradient.h",
        instead="conv_weight_grad_blocks.c", samples=partial(samples, 1),
    )  # fmt: skip
