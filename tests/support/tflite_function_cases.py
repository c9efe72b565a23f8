"""Files of TensorFlow Lite with functions of one quantised tensor, beyond those of tflite_cases.py."""

from __future__ import annotations

import numpy as np

from tests.support.tflite_cases import Case, Draw, binary, image, one, scale, tensor, unary, zero
from tests.support.tflite_models import T, constant


def words(op: str, *exact: float) -> Case:
    """A function of 16-bit rows, of small and of large numbers; `exact` are scales that kernels treat apart."""

    def make(draw: Draw) -> bytes:
        shape = (int(draw.integers(1, 4)), int(draw.integers(2, 400)))
        unit = draw.choice([*exact, *np.exp(draw.uniform(np.log(1e-6), np.log(0.01), 3))])
        x, y = T("int16", shape, float(np.float32(unit)), 0), T("int16", shape, 1 / 32768, 0)
        if op == "SOFTMAX":
            return one(op, [x], y, "SoftmaxOptions", 2, Beta=float(draw.choice([0.5, 1.0])))
        return one(op, [x], y, version=3)

    return make


def positive(op: str, options: str = "") -> Case:
    """A function of bytes, none of which stands for a negative number."""

    def make(draw: Draw) -> bytes:
        x = T("int8", (1, 5, 7, 3), float(np.float32(draw.uniform(0.01, 0.1))), -128)
        y = T("int8", x.shape, float(np.float32(draw.uniform(0.01, 0.1))), int(draw.integers(-128, 128)))
        return one(op, [x], y, options, version=2)

    return make


def prelu(draw: Draw) -> bytes:
    x = image(draw)
    channels = x.shape[3] if draw.integers(2) else 1
    slopes = constant(draw.integers(-128, 128, (1, 1, channels)).astype(np.int8), scale(draw), zero(draw))
    return one("PRELU", [x, slopes], tensor(draw, x.shape))


def gelu(draw: Draw) -> bytes:
    x = image(draw)
    return one("GELU", [x], tensor(draw, x.shape), "GeluOptions", 2, Approximate=bool(draw.integers(2)))


def rows_of_length_one(draw: Draw) -> bytes:
    x = T("int8", (int(draw.integers(1, 6)), int(draw.integers(1, 300))), scale(draw), zero(draw))
    return one("L2_NORMALIZATION", [x], T("int8", x.shape, 1 / 128, 0), "L2NormOptions", 2)


FUNCTIONS: dict[str, Case] = {
    "logistic_int16": words("LOGISTIC", 2.0**-12, 2.0**-11), "tanh_int16": words("TANH", 2.0**-12, 2.0**-11),
    "softmax_int16": words("SOFTMAX"), "abs": unary("ABS", "AbsOptions", version=2), "rsqrt": positive("RSQRT"),
    "leaky_relu_int16": unary("LEAKY_RELU", "LeakyReluOptions", "int16", version=2, Alpha=0.1),
    "leaky_relu_int16_falling": unary("LEAKY_RELU", "LeakyReluOptions", "int16", version=2, Alpha=-0.3),
    "abs_int16": unary("ABS", "AbsOptions", "int16", version=2),
    "prelu": prelu, "l2_normalization": rows_of_length_one,
    "squared_difference": binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", fused=False),
}  # fmt: skip

LITERT_ALONE: dict[str, Case] = {
    "exp": unary("EXP", "ExpOptions", version=2), "log": unary("LOG", version=2), "sqrt": positive("SQRT"),
    "gelu": gelu,
}  # fmt: skip
"""Those that LiteRT alone has of bytes."""
