"""Random products with weights of fewer than 8 bits, and the forms in which engines take them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.targets.hwpe.neureka_layers import Layer, layer, operands
from tests.targets.pulp.random_cases import Draw
from tilewright.ir.types import Array, limits
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case
from tilewright.target.target import Engine, Offer


def narrow_weights(draw: Draw, dtype: str, bits: int, *shape: int) -> Array:
    """Anywhere in the type's range, and often with both of its ends."""
    low, high = limits(dtype)
    least = int(draw.random.integers(low, high + 1 - (2**bits - 1), endpoint=True))
    if dtype == "int8" and draw.flag():
        least = -(2 ** (bits - 1))
    return draw.random.integers(least, least + 2**bits - 1, shape, endpoint=True).astype(dtype)


def narrow_product(seed: int, bits: int, most_rows: int = 6) -> Layer:
    draw = Draw(seed)
    channels, filters, w_type = 64 + draw.size(240), 15 + draw.size(40), draw.byte()
    x = draw.array(draw.byte(), *([1] if draw.flag() else []), draw.size(most_rows), channels)
    trans_b = draw.flag()
    w = narrow_weights(draw, w_type, bits, *((filters, channels) if trans_b else (channels, filters)))
    bias = draw.between(-20000, 20000, *draw.one_of((1,), (filters,))) if draw.flag() else None  # type: ignore[misc]
    found, rest = draw.requant(draw.byte(), channels, (1,), (filters,)) if draw.size(4) > 1 else (None, [])
    least, most = int(w.min()), int(w.max())
    b_zero = int(draw.random.integers(least, most, endpoint=True)) if w_type == "uint8" or draw.flag() else 0
    op = MatMul(trans_b=trans_b, a_zero=draw.zero(x.dtype.name), b_zero=b_zero, requant=found)
    return layer(op, x, w, bias, *rest)


def narrow_pixels(seed: int, bits: int) -> Layer:
    """A convolution with one tap."""
    draw = Draw(seed)
    channels, filters = 64 + draw.size(100), 15 + draw.size(40)
    x = draw.array(draw.byte(), 1, draw.size(3), draw.size(3), channels)
    w = narrow_weights(draw, "int8", bits, filters, 1, 1, channels)
    found, rest = draw.requant(draw.byte(), channels, (1,), (filters,))
    op = Conv(x_zero=draw.zero(x.dtype.name), requant=found, channels_last=True)
    return layer(op, x, w, None, *rest)


def forms_of(engine: Engine, drawn: Layer) -> Sequence[Offer]:
    assert engine.forms is not None
    return engine.forms(drawn.graph, drawn.node)


def cases(engine: Engine, drawn: Layer, skew: int = 0) -> list[Case]:
    """Each form with each kernel that takes it."""
    found = []
    for offer in forms_of(engine, drawn):
        arrays = operands(offer, drawn.image)
        tried = [Case(kernel, offer.op, arrays, skew) for kernel in engine.kernels if kernel.op is type(offer.op)]
        found += [case for case in tried if case.kernel.unsupported_reason(case.op, case.types) is None]
    return found
