"""Functions of single elements, and comparisons."""

from __future__ import annotations

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.frontends.jaxpr.fusions import gelu, softmax
from tilewright.frontends.jaxpr.rules import Equation, refuse, rule

SAME = {
    "neg": "Neg", "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "exp": "Exp", "log": "Log",
    "tanh": "Tanh", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "logistic": "Sigmoid",
    "erf": "Erf", "sqrt": "Sqrt", "add": "Add", "add_any": "Add", "sub": "Sub", "pow": "Pow", "max": "Max",
    "min": "Min",
}  # fmt: skip
"""Primitives that ONNX has too."""

COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}

LOGIC = {"and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor")}
"""On truth values, on integers."""


@rule(*SAME)
def same_operator(em: Emitter, equation: Equation, *values: Value) -> Value:
    return em.elementwise(SAME[equation.primitive.name], *values)


@rule("mul")
def multiply(em: Emitter, _: Equation, x: Value, y: Value) -> Value:
    return gelu(em, x, y) or em.elementwise("Mul", x, y)


@rule("div")
def divide(em: Emitter, _: Equation, x: Value, y: Value) -> Value:
    return softmax(em, x, y) or em.elementwise("Div", x, y)


@rule(*COMPARISONS)
def compare(em: Emitter, equation: Equation, x: Value, y: Value) -> Value:
    kind = COMPARISONS[equation.primitive.name]
    if x.dtype == np.bool_ and kind != "Equal":
        x, y = em.cast(x, np.int32), em.cast(y, np.int32)
    return em.elementwise(kind, x, y, dtype=np.bool_)


@rule("ne")
def differ(em: Emitter, _: Equation, x: Value, y: Value) -> Value:
    return em.elementwise("Not", em.elementwise("Equal", x, y, dtype=np.bool_))


@rule(*LOGIC)
def logic(em: Emitter, equation: Equation, x: Value, y: Value) -> Value:
    return em.elementwise(LOGIC[equation.primitive.name][x.dtype != np.bool_], x, y)


@rule("not")
def invert(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Not" if x.dtype == np.bool_ else "BitwiseNot", x)


@rule("rem")
def remainder(em: Emitter, _: Equation, x: Value, y: Value) -> Value:
    return em.elementwise("Mod", x, y, fmod=1)


@rule("integer_pow")
def integer_power(em: Emitter, equation: Equation, x: Value) -> Value:
    power = int(equation.params["y"])
    found = _raised(em, x, abs(power))
    return found if power >= 0 else em.elementwise("Div", np.asarray(1, x.dtype), found)


def _raised(em: Emitter, x: Value, power: int) -> Value:
    """By squaring, which is exact where the exponential function is not."""
    if power == 0:
        return np.ones(x.shape, x.dtype)
    if power == 1:
        return x
    half = _raised(em, x, power // 2)
    squared = em.elementwise("Mul", half, half)
    return em.elementwise("Mul", squared, x) if power % 2 else squared


@rule("square")
def square(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Mul", x, x)


@rule("rsqrt")
def reciprocal_root(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Reciprocal", em.elementwise("Sqrt", x))


@rule("cbrt")
def cube_root(em: Emitter, _: Equation, x: Value) -> Value:
    root = em.elementwise("Pow", em.elementwise("Abs", x), np.asarray(1 / 3, x.dtype))
    return em.elementwise("Mul", em.elementwise("Sign", x), root)


@rule("exp2")
def power_of_two(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Exp", em.elementwise("Mul", x, np.asarray(np.log(2), x.dtype)))


@rule("log1p")
def log_plus_one(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Log", em.elementwise("Add", x, np.asarray(1, x.dtype)))


@rule("expm1")
def exp_minus_one(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Sub", em.elementwise("Exp", x), np.asarray(1, x.dtype))


@rule("erfc")
def complementary_error(em: Emitter, _: Equation, x: Value) -> Value:
    return em.elementwise("Sub", np.asarray(1, x.dtype), em.elementwise("Erf", x))


@rule("atan2")
def angle(em: Emitter, _: Equation, y: Value, x: Value) -> Value:
    """atan(y / x), and a half turn more to the left of the origin."""
    zero, turn = np.asarray(0, x.dtype), np.asarray(np.pi, x.dtype)
    upward = em.elementwise("Less", y, zero, dtype=np.bool_)
    half = em.elementwise("Where", upward, -turn, turn, dtype=x.dtype)
    left = em.elementwise("Less", x, zero, dtype=np.bool_)
    nothing = em.elementwise("Equal", y, zero, dtype=np.bool_)
    ratio = em.elementwise("Where", nothing, zero, em.elementwise("Div", y, x), dtype=x.dtype)
    found = em.elementwise("Atan", ratio)
    return em.elementwise("Add", found, em.elementwise("Where", left, half, zero, dtype=x.dtype))


@rule("round")
def rounded(em: Emitter, equation: Equation, x: Value) -> Value:
    if int(equation.params["rounding_method"]) == 1:  # to even
        return em.elementwise("Round", x)
    up = em.elementwise("Floor", em.elementwise("Add", em.elementwise("Abs", x), np.asarray(0.5, x.dtype)))
    return em.elementwise("Mul", em.elementwise("Sign", x), up)


@rule("is_finite")
def finite(em: Emitter, _: Equation, x: Value) -> Value:
    endless = em.elementwise("IsInf", x, dtype=np.bool_)
    return em.elementwise("Not", em.elementwise("Or", endless, em.elementwise("IsNaN", x, dtype=np.bool_)))


@rule("clamp")
def clamp(em: Emitter, _: Equation, low: Value, x: Value, high: Value) -> Value:
    if all(isinstance(bound, np.ndarray) and bound.size == 1 for bound in (low, high)):
        bounds = [em.reshape(bound, ()) for bound in (low, high)]
        return em.elementwise("Clip", x, *bounds)
    return em.elementwise("Min", em.elementwise("Max", x, low), high)


@rule("select_n")
def select(em: Emitter, equation: Equation, which: Value, *cases: Value) -> Value:
    if isinstance(which, np.ndarray) and which.size and np.all(which == which.flat[0]):
        return em.full(cases[int(which.flat[0])], np.broadcast_shapes(*(case.shape for case in cases)))
    if which.dtype == np.bool_:
        return em.elementwise("Where", which, cases[1], cases[0], dtype=cases[0].dtype)
    found = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        here = em.elementwise("Equal", which, np.asarray(number, which.dtype), dtype=np.bool_)
        found = em.elementwise("Where", here, cases[number], found, dtype=found.dtype)
    return found


@rule("convert_element_type")
def convert(em: Emitter, equation: Equation, x: Value) -> Value:
    return em.cast(x, equation.params["new_dtype"])


@rule("reduce_precision")
def reduce_precision(em: Emitter, equation: Equation, x: Value) -> Value:
    if (equation.params["exponent_bits"], equation.params["mantissa_bits"]) != (8, 23):
        raise refuse("rounds to a type of its own")
    return x


@rule("copy", "copy_p", "name", "stop_gradient", "optimization_barrier", "sharding_constraint", "device_put", "pvary")
def same(em: Emitter, _: Equation, *values: Value) -> list[Value]:
    return list(values)
