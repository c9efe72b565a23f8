"""The functions that gates of recurrent networks may have, as ONNX names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.records import dataclass

Function = Callable[[Array, float, float], Array]

FUNCTIONS: dict[str, Function] = {
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.logaddexp(x, 0),
}
"""In the order of the numbers that kernels know them by."""

ALPHAS = {
    "Affine": 1.0, "LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": 1.0, "HardSigmoid": 0.2, "Elu": 1.0,
}  # fmt: skip
"""Those with a first parameter, and what it is where the file does not say."""
BETAS = {"Affine": 0.0, "ScaledTanh": 1.0, "HardSigmoid": 0.5}


@dataclass(frozen=True, repr=False)
class GateFunction:
    """One of them with its parameters."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def __call__(self, x: Array) -> Array:
        return FUNCTIONS[self.name](x, self.alpha, self.beta)

    def __repr__(self) -> str:
        given = [value for value, known in ((self.alpha, ALPHAS), (self.beta, BETAS)) if self.name in known]
        return f"{self.name}({', '.join(f'{value:g}' for value in given)})" if given else self.name


SIGMOID, TANH = GateFunction("Sigmoid"), GateFunction("Tanh")


def gate_functions(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> tuple[GateFunction, ...]:
    """Functions by their names, in any case. Parameters are handed out in order to the functions that have them."""
    alpha, beta = iter(alphas), iter(betas)
    known = {name.lower(): name for name in FUNCTIONS}
    found = []
    for name in (known.get(str(given).lower(), str(given)) for given in names):
        if name not in FUNCTIONS:
            raise Refusal(f"activation '{name}' is unknown", f"known: {', '.join(FUNCTIONS)}")
        first = float(next(alpha, ALPHAS[name])) if name in ALPHAS else 0.0
        found.append(GateFunction(name, first, float(next(beta, BETAS[name])) if name in BETAS else 0.0))
    return tuple(found)
