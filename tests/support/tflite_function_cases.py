"""Files of TensorFlow Lite with functions of one quantised tensor, beyond those of tflite_cases.py."""

from __future__ import annotations

import numpy as np

from tests.support.tflite_cases import Case, Draw, one
from tests.support.tflite_models import T


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


FUNCTIONS: dict[str, Case] = {
    "logistic_int16": words("LOGISTIC", 2.0**-12, 2.0**-11), "tanh_int16": words("TANH", 2.0**-12, 2.0**-11),
    "softmax_int16": words("SOFTMAX"),
}  # fmt: skip
