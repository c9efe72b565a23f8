"""How weights follow their gradients: small graphs of one weight each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array, Shape
from tilewright.ir.value import Value
from tilewright.records import dataclass

Moments = Mapping[str, Value]


@dataclass(frozen=True)
class SGD:
    """Steps down the gradient, or with momentum down its running sum."""

    rate: float = 0.01
    """What a gradient is multiplied by."""
    momentum: float = 0.0
    """The share of the last step that is taken again; 0 keeps no memory of steps."""
    decay: float = 0.0
    """Added to the gradient, times the weight."""
    nesterov: bool = False
    """Whether momentum looks one step ahead."""

    def __post_init__(self) -> None:
        _check("SGD", rate=self.rate, momentum=self.momentum, decay=self.decay)

    def moments(self, shape: Shape) -> dict[str, Array]:
        """First values of what is kept for each weight."""
        return {"momentum": np.zeros(shape, np.float32)} if self.momentum else {}

    def shared(self) -> dict[str, Array]:
        """First values of what all weights have in common."""
        return {}

    def advanced(self, shared: Moments) -> dict[str, Value]:
        return {}

    def step(self, weight: Value, gradient: Value, own: Moments, shared: Moments) -> tuple[Value, dict[str, Value]]:
        """The next weight and moments."""
        slope = gradient + weight * self.decay if self.decay else gradient
        if not self.momentum:
            return weight - slope * self.rate, {}
        kept = own["momentum"] * self.momentum + slope
        way = slope + kept * self.momentum if self.nesterov else kept
        return weight - way * self.rate, {"momentum": kept}


@dataclass(frozen=True)
class Adam:
    """Steps by running means of the gradient and of its square."""

    rate: float = 0.001
    """Of a step."""
    betas: tuple[float, float] = (0.9, 0.999)
    """How much of the running means of the gradient and of its square is kept."""
    epsilon: float = 1e-8
    """Added to the root of the mean square, so that nothing is divided by zero."""
    decay: float = 0.0
    """Added to the gradient, times the weight."""

    def __post_init__(self) -> None:
        _check(type(self).__name__, rate=self.rate, beta=min(self.betas), epsilon=self.epsilon, decay=self.decay)

    def moments(self, shape: Shape) -> dict[str, Array]:
        return {"mean": np.zeros(shape, np.float32), "square": np.zeros(shape, np.float32)}

    def shared(self) -> dict[str, Array]:
        """Powers of both betas, by the number of updates."""
        return {name: np.ones(1, np.float32) for name in ("adam.power_of_mean", "adam.power_of_square")}

    def advanced(self, shared: Moments) -> dict[str, Value]:
        return {name: power * beta for (name, power), beta in zip(shared.items(), self.betas, strict=True)}

    def step(self, weight: Value, gradient: Value, own: Moments, shared: Moments) -> tuple[Value, dict[str, Value]]:
        slope, kept = self.regularised(weight, gradient)
        of_mean, of_square = self.betas
        mean = own["mean"] * of_mean + slope * (1.0 - of_mean)
        square = own["square"] * of_square + slope.squared() * (1.0 - of_square)
        power_of_mean, power_of_square = shared.values()
        root = square.sqrt() / (1.0 - power_of_square).sqrt() + self.epsilon
        way = mean / root * (self.rate / (1.0 - power_of_mean))
        return kept - way.reshape(weight.shape), {"mean": mean, "square": square}

    def regularised(self, weight: Value, gradient: Value) -> tuple[Value, Value]:
        """The gradient and the weight before the step."""
        return (gradient + weight * self.decay if self.decay else gradient), weight


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose decay shrinks the weight itself."""

    decay: float = 0.01
    """The share of a weight that a step of rate 1 takes away."""

    def regularised(self, weight: Value, gradient: Value) -> tuple[Value, Value]:
        return gradient, weight * (1.0 - self.rate * self.decay)


Optimizer = SGD | Adam


def _check(kind: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number < np.inf:
            raise CompileError(f"optimizer {kind}", f"{name} is {number}", "it is zero or above")
