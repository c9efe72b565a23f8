"""Kernels that work element by element. Where nothing else is said, `kernels/exp.c` computes operator Exp."""

from __future__ import annotations

from tilewright import ops
from tilewright.errors import present
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, COMPUTED, STORED
from tilewright.ops._elementwise import BOOLS, FLOATS, INTEGERS, NUMBERS, SIGNED
from tilewright.target.kernel import Kernel, Types

ALL = COMPUTED


def operator(kind: str) -> type[Op]:
    return present(ops.find(kind), "target", f"there is no operator {kind}")


def unary(kind: str, dtypes: frozenset[str] = FLOATS, result: frozenset[str] | None = None, source: str = "") -> Kernel:
    types = {"X": dtypes, "Y": result or dtypes}
    return Kernel(operator(kind), source or f"{kind.lower()}.c", "X -> Y", types, header="unary.h")


def binary(kind: str, dtypes: frozenset[str] = NUMBERS, result: frozenset[str] | None = None) -> Kernel:
    types = {"A": dtypes, "B": dtypes, "Y": result or dtypes}
    return Kernel(operator(kind), f"{kind.lower()}.c", "A B -> Y", types, header="binary.h")


def variant(kind: str, source: str, attribute: str, value: str | int, signature: str, dtypes: frozenset[str]) -> Kernel:
    """A kernel for one value of an attribute."""

    def unsupported_reason(op: Op, types: Types) -> str | None:
        found = getattr(op, attribute)
        return None if found == value else f"{attribute} is {found}"

    types = dict.fromkeys(signature.replace("->", "").split(), dtypes)
    header = "unary.h" if signature == "X -> Y" else "binary.h"
    return Kernel(operator(kind), source, signature, types, header=header, unsupported_reason=unsupported_reason)


FLOAT_FUNCTIONS = (
    "Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Log Mish "
    "Reciprocal Round Selu Shrink Sigmoid Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
)

KERNELS = (
    *(unary(kind) for kind in FLOAT_FUNCTIONS.split()),
    *(unary(kind, NUMBERS) for kind in ("Abs", "Neg", "Relu", "Sign")),
    *(unary(kind, FLOATS, BOOLS) for kind in ("IsInf", "IsNaN")),
    unary("BitCast", ALL, NUMBERS),
    unary("BitwiseNot", INTEGERS),
    unary("Cast", ALL, NUMBERS),
    unary("Cast", ALL, BOOLS, "cast_bool.c"),
    *(unary("Cast", frozenset({stored}), FLOATS, f"cast_from_{stored}.c") for stored in STORED),
    *(unary("Cast", FLOATS, frozenset({stored}), f"cast_to_{stored}.c") for stored in STORED),
    unary("Identity", frozenset(BYTES)),
    unary("Not", BOOLS),
    variant("Gelu", "gelu.c", "approximate", "none", "X -> Y", FLOATS),
    variant("Gelu", "gelu_tanh.c", "approximate", "tanh", "X -> Y", FLOATS),
    Kernel(operator("Clip"), "clip.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}),
    *(binary(kind) for kind in ("Add", "Div", "Max", "Min", "Mul", "Pow", "Sub")),
    *(binary(kind, NUMBERS, BOOLS) for kind in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual")),
    *(binary(kind, BOOLS) for kind in ("And", "Or", "Xor")),
    *(binary(kind, INTEGERS) for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    binary("Equal", ALL, BOOLS),
    binary("PRelu", FLOATS | SIGNED),
    binary("ReluGrad", FLOATS),
    variant("GeluGrad", "gelugrad.c", "approximate", "none", "A B -> Y", FLOATS),
    variant("GeluGrad", "gelugrad_tanh.c", "approximate", "tanh", "A B -> Y", FLOATS),
    variant("BitShift", "bitshift_left.c", "direction", "LEFT", "A B -> Y", INTEGERS),
    variant("BitShift", "bitshift_right.c", "direction", "RIGHT", "A B -> Y", INTEGERS),
    variant("Mod", "mod.c", "fmod", 0, "A B -> Y", NUMBERS),
    variant("Mod", "fmod.c", "fmod", 1, "A B -> Y", NUMBERS),
    Kernel(operator("Where"), "where.c", "C:bool A B -> Y", dict.fromkeys("ABY", ALL), header="ternary.h"),
)
