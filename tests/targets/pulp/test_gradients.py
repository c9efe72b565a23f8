"""Kernels of gradients of floats: of convolutions of all kinds, and of functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.gelugrad import GeluGrad
from tilewright.ops.relu import Relu
from tilewright.ops.relugrad import ReluGrad
from tilewright.run.kernel_bench import Case, check, measure
from tilewright.targets.pulp.gradients import kernels

RANDOM = np.random.default_rng(11)
BY_STEM = {kernel.stem: kernel for kernel in kernels(8)}

DENSE = [
    # batch, height, width, channels, filters, kernel, stride, pad, dilation, groups
    (1, 9, 7, 8, 8, 3, 1, 1, 1, 1),
    (2, 7, 10, 3, 6, 3, 2, 1, 1, 1),
    (1, 5, 6, 8, 12, 1, 1, 0, 1, 1),
    (1, 5, 4, 4, 8, 1, 1, 2, 1, 1),
    (2, 4, 5, 8, 4, 1, 1, 1, 1, 1),
    (1, 6, 5, 5, 4, 1, 2, 0, 1, 1),
    (1, 9, 7, 3, 6, 3, 2, 1, 2, 1),
    (2, 6, 5, 8, 8, 3, 1, 1, 1, 2),
    (1, 8, 8, 4, 3, 2, 3, 0, 1, 1),
    (1, 8, 8, 5, 3, 3, 1, 0, 1, 1),
    (1, 7, 16, 21, 18, 3, 1, 2, 1, 1),
    (2, 9, 40, 16, 24, 3, 1, 1, 1, 1),
    (1, 7, 6, 12, 20, 3, 1, 0, 1, 1),
    (1, 2, 600, 4, 16, 3, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 3, 1, 1, 1, 1),
    (2, 1, 5, 3, 2, 3, 2, 1, 1, 1),
    (1, 2, 2, 4, 4, 3, 1, 2, 1, 1),
    (1, 13, 9, 9, 8, 3, 2, 0, 1, 1),
    (2, 8, 12, 16, 5, 3, 2, 2, 1, 1),
    (1, 6, 9, 40, 36, 3, 1, 1, 1, 1),
    (1, 10, 8, 40, 24, 3, 2, 1, 1, 1),
    (1, 13, 24, 3, 16, 3, 1, 1, 1, 1),
    (2, 11, 9, 14, 12, 3, 1, 1, 1, 1),
]
DEPTHWISE = [
    (1, 9, 8, 6, 6, 3, 1, 1, 1, 6),
    (2, 9, 8, 6, 6, 3, 2, 1, 1, 6),
    (1, 6, 6, 5, 5, 4, 1, 2, 1, 5),
    (1, 7, 7, 4, 4, 3, 1, 0, 2, 4),
    (1, 5, 12, 3, 3, 3, 1, 0, 1, 3),
    (1, 3, 3, 9, 9, 3, 1, 2, 1, 9),
    (1, 1, 1, 2, 2, 3, 1, 1, 1, 2),
    (2, 1, 9, 1, 1, 3, 1, 1, 1, 1),
    (3, 2, 1, 3, 3, 5, 1, 2, 1, 3),
    (1, 11, 4, 8, 8, 3, 1, 1, 1, 8),
    (2, 8, 8, 16, 16, 3, 2, 1, 1, 16),
    (1, 9, 9, 5, 5, 5, 3, 2, 1, 5),
    (1, 40, 34, 3, 3, 3, 1, 1, 1, 3),
    (1, 6, 300, 2, 2, 3, 1, 1, 1, 2),
    (1, 4, 5, 3, 3, 3, 1, 6, 6, 3),
]


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def case(stem: str, op: Op, *arrays: Array) -> Case:
    return Case(BY_STEM[stem], op, list(arrays))


def gradients(shape: tuple[int, ...], kind: str) -> list[Case]:
    batch, height, width, channels, filters, kernel, stride, pad, dilation, groups = shape
    outs = [(size + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for size in (height, width)]
    w, g = floats(filters, kernel, kernel, channels // groups), floats(batch, *outs, filters)
    by_w = ConvWeightGrad(
        (stride,) * 2, (dilation,) * 2, (pad,) * 4, groups=groups, kernel=(kernel,) * 2, channels_last=True
    )
    by_x = ConvInputGrad(
        (stride,) * 2, (dilation,) * 2, (pad, pad, 0, 0), groups=groups, size=(height, width), channels_last=True
    )
    found = [
        case(f"conv_weight_grad_{kind}", by_w, floats(batch, height, width, channels), g),
        case(f"conv_input_grad_{kind}", by_x, g, w),
    ]
    if groups > 1 or kernel != 3 or dilation != 1 or stride > 2:
        return found
    found.append(case("conv_input_grad_winograd" + ("" if stride == 1 else "_strided"), by_x, g, w))
    has_quads = filters % 4 == 0 and stride == 1
    return [*found, replace(found[0], kernel=BY_STEM["conv_weight_grad_winograd"])] if has_quads else found


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", [1, 8])
def test_gradients_of_convolutions(cores: int) -> None:
    dense = [one for shape in DENSE for one in gradients(shape, "blocks")]
    check([*dense, *(one for shape in DEPTHWISE for one in gradients(shape, "channels"))], SIRACUSA, cores)


@pytest.mark.in_turns(5)
def test_relu_and_gradients_of_functions() -> None:
    wide = np.linspace(-20, 20, 101).astype(np.float32)
    cases = [case("relugrad_shared", ReluGrad(), wide, -wide), case("gelugrad_shared", GeluGrad(), 1 + wide, wide)]
    # Zeros, infinities, the least and the largest numbers, and what is none, of both signs.
    edges = np.array([0, 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF], np.uint32)
    odd = np.concatenate([edges, edges | np.uint32(1 << 31)]).view(np.float32)
    cases.append(case("relugrad_shared", ReluGrad(), floats(14), odd))
    check([*cases, case("relugrad_shared", ReluGrad(), floats(3, 5), floats(5))], SIRACUSA, 8)
    relu = Case(next(kernel for kernel in KERNELS if kernel.source == "relu_shared.c"), Relu(), [np.tile(odd, 5)])
    np.testing.assert_array_equal(measure([relu], SIRACUSA)[0].results[0], Relu().numpy(np.tile(odd, 5)))
