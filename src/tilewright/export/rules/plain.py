"""Operators that ONNX has under the same name, with our fields as its attributes and our operands in its order."""

from __future__ import annotations

from tilewright.export.registry import attributes_of, rule
from tilewright.export.writer import NodeWriter
from tilewright.ir.op import Op

FUNCTIONS = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp",
    "Floor", "Gelu", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not",
    "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign",
    "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
)  # fmt: skip

OF_TWO = (
    "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Max", "Min", "Or", "PRelu", "Pow", "Where", "Xor",
)  # fmt: skip

OTHERS = (
    "ArgMax", "ArgMin", "Concat", "DequantizeLinear", "Gather", "GatherElements", "GlobalAveragePool",
    "GlobalMaxPool", "LRN", "LogSoftmax", "QuantizeLinear", "ScatterElements", "Transpose",
)  # fmt: skip


@rule(*FUNCTIONS, *OF_TWO, *OTHERS)
def as_it_is(to: NodeWriter, op: Op) -> None:
    to.end(op.kind, to.inputs, **attributes_of(op))
