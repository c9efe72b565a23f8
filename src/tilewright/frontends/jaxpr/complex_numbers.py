"""Complex numbers of JAX as two real values each: spectra, and what may stand between transforms and real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tilewright.frontends.jaxpr import elementwise, movement, reductions
from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value
from tilewright.frontends.jaxpr.rules import Equation, Rule, refuse, shape_in
from tilewright.ir.types import Shape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Complex:
    real: Value
    imaginary: Value


Number: TypeAlias = "Value | Complex"

ComplexRule: TypeAlias = "Callable[..., Number]"


def parts_of(number: Number) -> Complex:
    if isinstance(number, Complex):
        return number
    if isinstance(number, np.ndarray):
        return Complex(np.real(number), np.imag(number))
    return Complex(number, np.zeros((1,) * len(number.shape), number.dtype))


def is_complex(number: Number) -> bool:
    return isinstance(number, Complex) or (isinstance(number, np.ndarray) and number.dtype.kind == "c")


# ---- transforms -----------------------------------------------------------------------------------------------------


def transform(em: Emitter, equation: Equation, x: Number) -> Number:
    """Along the last axes: ONNX's DFT, whose last axis has both parts, for each of them."""
    kind, lengths = equation.params["fft_type"].name, equation.params["fft_lengths"]
    shape = shape_in(equation)
    axes = list(range(len(shape) - len(lengths), len(shape)))
    halved, inverse = kind in ("RFFT", "IRFFT"), kind in ("IFFT", "IRFFT")
    packed = _packed(em, x, shape)
    walk = list(zip(axes, lengths, strict=True))
    for axis, length in walk if inverse else reversed(walk):
        packed = _along(em, packed, axis, int(length), inverse, halved and axis == axes[-1])
    real = _part(em, packed, 0)
    return real if kind == "IRFFT" else Complex(real, _part(em, packed, 1))


def _packed(em: Emitter, x: Number, shape: Shape) -> Tensor:
    """[..., 1 or 2]: real values have one part."""
    found = (x.real, x.imaginary) if isinstance(x, Complex) else (x,)
    whole = [em.reshape(em.full(part, shape), (*shape, 1)) for part in found]
    return em.op("Concat", *whole, shape=(*shape, len(whole)), axis=len(shape))


def _along(em: Emitter, x: Tensor, axis: int, length: int, inverse: bool, halved: bool) -> Tensor:
    shape = list(x.shape)
    shape[axis] = length // 2 + 1 if halved and not inverse else length
    shape[-1] = 1 if halved and inverse else 2
    numbers = [np.asarray(number, np.int64) for number in (length, axis)]
    return em.op("DFT", x, *numbers, shape=tuple(shape), inverse=int(inverse), onesided=int(halved))


def _part(em: Emitter, packed: Tensor, which: int) -> Value:
    last = len(packed.shape) - 1
    return em.reshape(em.slice(packed, [which], [which + 1], [last], [1]), packed.shape[:-1])


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def made(em: Emitter, equation: Equation, real: Value, imaginary: Value) -> Number:
    return Complex(real, imaginary)


def real(em: Emitter, equation: Equation, x: Number) -> Number:
    return parts_of(x).real


def imaginary(em: Emitter, equation: Equation, x: Number) -> Number:
    return parts_of(x).imaginary


def magnitude(em: Emitter, equation: Equation, x: Number) -> Number:
    z = parts_of(x)
    squares = [em.elementwise("Mul", part, part) for part in (z.real, z.imaginary)]
    return em.elementwise("Sqrt", em.elementwise("Add", *squares))


def conjugate(em: Emitter, equation: Equation, x: Number) -> Number:
    z = parts_of(x)
    return Complex(z.real, em.elementwise("Neg", z.imaginary))


def negated(em: Emitter, equation: Equation, x: Number) -> Number:
    z = parts_of(x)
    return Complex(em.elementwise("Neg", z.real), em.elementwise("Neg", z.imaginary))


def summed(kind: str) -> ComplexRule:
    def apply(em: Emitter, equation: Equation, x: Number, y: Number) -> Number:
        a, b = parts_of(x), parts_of(y)
        return Complex(em.elementwise(kind, a.real, b.real), em.elementwise(kind, a.imaginary, b.imaginary))

    return apply


def product(em: Emitter, equation: Equation, x: Number, y: Number) -> Number:
    a, b = parts_of(x), parts_of(y)
    real = em.elementwise("Sub", em.elementwise("Mul", a.real, b.real), em.elementwise("Mul", a.imaginary, b.imaginary))
    cross = em.elementwise(
        "Add", em.elementwise("Mul", a.real, b.imaginary), em.elementwise("Mul", a.imaginary, b.real)
    )
    return Complex(real, cross)


def quotient(em: Emitter, equation: Equation, x: Number, y: Number) -> Number:
    if not isinstance(y, np.ndarray):
        raise refuse("divides complex numbers by what is known only when the network runs", "divide both parts of them")
    return product(em, equation, x, np.asarray(1 / y, np.complex64))


def converted(em: Emitter, equation: Equation, x: Number) -> Number:
    """Between kinds of complex numbers, or from real ones."""
    if np.dtype(equation.params["new_dtype"]).kind != "c":
        raise refuse("takes real numbers of complex ones", "say which: jnp.real, jnp.imag or jnp.abs")
    return parts_of(x)


def of_both(rule: Rule) -> ComplexRule:
    """A rule that treats both parts alike: it moves elements or adds them up."""

    def apply(em: Emitter, equation: Equation, *numbers: Number) -> Number:
        parts = [parts_of(number) for number in numbers]
        found = [
            rule(em, equation, *(part.real for part in parts)), rule(em, equation, *(part.imaginary for part in parts)),
        ]  # fmt: skip
        first, second = (value[0] if isinstance(value, Sequence) else value for value in found)
        return Complex(first, second)

    return apply


COMPLEX: dict[str, ComplexRule] = {
    "fft": transform, "complex": made, "real": real, "imag": imaginary, "abs": magnitude, "conj": conjugate,
    "neg": negated, "add": summed("Add"), "add_any": summed("Add"), "sub": summed("Sub"),
    "mul": product, "div": quotient,
    "convert_element_type": converted, "copy": of_both(elementwise.same), "copy_p": of_both(elementwise.same),
    "reshape": of_both(movement.reshape), "squeeze": of_both(movement.reshape),
    "expand_dims": of_both(movement.reshape), "broadcast_in_dim": of_both(movement.broadcast),
    "transpose": of_both(movement.transpose), "rev": of_both(movement.reverse), "slice": of_both(movement.cut),
    "concatenate": of_both(movement.concatenate), "pad": of_both(movement.pad),
    "reduce_sum": of_both(reductions.reduce),
}  # fmt: skip
"""The only rules that make or take complex numbers."""
