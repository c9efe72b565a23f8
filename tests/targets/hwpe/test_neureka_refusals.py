"""What N-EUREKA does not take, and the sentence that says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.hwpe.neureka_layers import Layer, layer
from tilewright.errors import Refusal
from tilewright.ir.graph import Builder
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu


def ones(*shape: int, dtype: str = "int8") -> Array:
    return np.ones(shape, dtype)


def conv(x: Array, w: Array, *rest: Array | None, **fields: Any) -> Layer:
    return layer(Conv(**{"channels_last": True, **fields}), x, w, *rest)


def unknown_weights() -> Layer:
    builder = Builder("layer")
    a, b = (builder.input(name, TensorType("int8", (4, 4))) for name in "ab")
    builder.output(*builder(MatMul(), [a, b], ["y"]))
    return Layer(builder.build(), ones(4, 4))


IMAGE = ones(1, 9, 9, 4)

REFUSED: dict[str, Layer] = {
    "N-EUREKA computes convolutions, products with constant matrices and additions of two tensors only": layer(
        Relu(), IMAGE
    ),
    "X is float32, N-EUREKA multiplies int8 and uint8": conv(
        ones(1, 9, 9, 4, dtype="float32"), ones(2, 3, 3, 4, dtype="float32")
    ),
    "B is not constant, and N-EUREKA needs it packed at compile time": unknown_weights(),
    "it is not channels last": conv(IMAGE, ones(2, 9, 3, 3), channels_last=False),
    "it has 2 groups of 400 channels and 400 filters; N-EUREKA has one group, or one channel and filter in each": conv(
        ones(1, 3, 3, 800), ones(800, 1, 1, 400), groups=2
    ),
    "its kernel is 11x11, N-EUREKA has 1x1 and 3x3": conv(ones(1, 12, 12, 4), ones(4, 11, 11, 1), groups=4),
    "no code of its weights stands for 0, and N-EUREKA has windows of 3x3 taps": conv(
        IMAGE, ones(4, 5, 5, 1), groups=4
    ),
    "its strides are (3, 3); of more than 2, too many results would be dropped": conv(
        IMAGE, ones(4, 3, 3, 1), groups=4, strides=(3, 3)
    ),
    "its kernel is 5x5, N-EUREKA has 1x1 and 3x3": conv(IMAGE, ones(4, 5, 5, 1), groups=4, strides=(3, 3)),
    "its dilations are (2, 1)": conv(IMAGE, ones(2, 3, 3, 4), dilations=(2, 1)),
    "its rows are read or stored in another order": layer(MatMul(perm_y=(1, 0)), ones(4, 4), ones(4, 4)),
    "its second factor has shape (2, 4, 4); one matrix, or one for each head, is expected": layer(
        MatMul(), ones(2, 4, 4), ones(2, 4, 4)
    ),
    "C has shape (3, 1); one value, or one for each of 4 columns is expected": layer(
        MatMul(), ones(3, 4), ones(4, 4), ones(3, 1, dtype="int32")
    ),
    "its result is uint16, N-EUREKA writes int8, uint8, int16, int32": layer(
        MatMul(requant=Requant(0, "uint16", 0, 100)), ones(3, 4), ones(4, 4), None, ones(1, dtype="int32")
    ),
    "accumulators of up to 2^31 do not fit N-EUREKA's 32 bits": layer(
        MatMul(), ones(3, 4), ones(4, 4), np.full(4, 2**31 - 1, np.int32)
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    with pytest.raises(Refusal) as refusal:
        _ = REFUSED[reason].offer
    assert refusal.value.what == reason


@pytest.mark.parametrize(
    ("taken", "kind"),
    [
        (conv(IMAGE, ones(2, 1, 1, 4)), "NeurekaLinear"),
        (conv(IMAGE, ones(2, 1, 1, 4), strides=(3, 3)), "NeurekaConv"),
        (conv(IMAGE, ones(2, 3, 3, 4), padding=(1, 1, 1, 1)), "NeurekaConv"),
        (conv(IMAGE, ones(2, 5, 5, 4)), "NeurekaGathered"),
        (conv(IMAGE, ones(2, 3, 3, 4), padding=(2, 2, 2, 2)), "NeurekaGathered"),
        (conv(IMAGE, ones(2, 3, 3, 4), strides=(3, 3)), "NeurekaGathered"),
    ],
)
def test_taken(taken: Layer, kind: str) -> None:
    assert type(taken.offer.op).__name__ == kind
