"""Steps of training: operators of ai.onnx.preview.training that update some tensors by their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.errors import Refusal
from tilewright.ops._compose import Compose
from tilewright.ops.greater import Greater
from tilewright.ops.where import Where

DOMAIN = ("ai.onnx.preview.training",)


def updated(make: Compose, kinds: int, step: Callable[..., Sequence[str]]) -> Sequence[str]:
    """Of rate, count and the tensors, their gradients and what else is kept, `kinds` of each: the new values of all
    but the gradients."""
    rate, count, *given = make.node.inputs
    if not given or len(given) % kinds:
        raise Refusal(f"{len(given)} tensors; there should be {kinds} for each that is updated")
    tensors = len(given) // kinds
    found = [step(rate, count, *given[number::tensors]) for number in range(tensors)]
    return make.give(*(each for kind in zip(*found, strict=True) for each in kind))


def regularised(make: Compose, x: str, gradient: str) -> str:
    """The gradient with that of half the norm's square times a coefficient."""
    coefficient = float(make.node.attribute("norm_coefficient", 0.0))
    return make.add(make.scaled(x, coefficient), gradient) if coefficient else gradient


def weighted(make: Compose, a: str, of_a: float, b: str, of_b: float) -> str:
    return make.add(make.scaled(a, of_a), make.scaled(b, of_b))


def if_counted(make: Compose, count: str, later: str, first: str) -> str:
    """Another value in the first step, whose number is 0."""
    return make(Where(), make(Greater(), count, make.like(0, count)), later, first)
