"""Networks that learn: a few steps and updates of images, sequences and rows, with all losses and optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.trainable_layers import IMAGE, ROW, SEQUENCE, Layer, as_row, embedded, head, summarised
from benchmarks.differential.two_forms import TwoForms, trained

from tilewright.ir.types import Array

STEPS, WORDS, TRIES = 4, 11, 6
GROWTH = 3.0
"""Of the loss, beyond which every step multiplies what the one before was off by rounding."""


def draw(choices: Choices, room: int) -> Case:
    batch = choices.pick_one([2, 1, 3, 4])
    kind = choices.pick_one(["row", "image", "image", "image", "sequence", "sequence", "words", "signal"])
    net = {"row": _row, "image": _image, "sequence": _sequence, "words": _words, "signal": _signal}[kind](
        choices, batch
    )
    width = choices.number(2, 5)
    recipe = _recipe(choices, net, width)
    if recipe["loss"] != "mse" or not net.weights or choices.chance(0.7):
        _reduced(net)
        head(net, width)
    recipe |= {"learning": _learning(choices, net), "weights": list(net.weights)}
    data, labels = _samples(choices, net, recipe)
    expected = trained(net, recipe, data, labels)
    losses = expected.get("losses", np.zeros(1))
    if not np.isfinite(losses).all() or losses.max() > GROWTH * max(losses[0], 1.0):
        raise Dull("a network that does not learn")
    recipe["in_place"] = recipe["accumulate"] == 1 and choices.chance(0.5)
    return Case(net.model().SerializeToString(), {"x": data, "label": labels}, expected, recipe=recipe)


def _row(choices: Choices, batch: int) -> TwoForms:
    return _grown(TwoForms(choices, (batch, choices.number(2, 24))), ROW)


def _image(choices: Choices, batch: int) -> TwoForms:
    sizes = [choices.pick_one([5, 8, 1, 2, 3, 11, 13]) for _ in range(2)]
    return _grown(TwoForms(choices, (batch, choices.pick_one([1, 2, 3, 4, 8]), *sizes)), IMAGE)


def _signal(choices: Choices, batch: int) -> TwoForms:
    return _grown(TwoForms(choices, (batch, choices.number(1, 6), choices.pick_one([9, 16, 1, 3, 33]))), IMAGE)


def _sequence(choices: Choices, batch: int) -> TwoForms:
    return _grown(TwoForms(choices, (batch, choices.number(1, 7), choices.number(2, 12)), is_sequence=True), SEQUENCE)


def _words(choices: Choices, batch: int) -> TwoForms:
    net = TwoForms(choices, (batch, choices.number(1, 7)), "int64", is_sequence=True)
    embedded(net, WORDS)
    return _grown(net, SEQUENCE)


def _grown(net: TwoForms, layers: Mapping[Layer, int]) -> TwoForms:
    for _ in range(net.choices.number(1, 6)):
        for _ in range(TRIES):
            try:
                net.choices.weighted(dict(layers))(net)
                break
            except Dull:
                continue
    return net


def _reduced(net: TwoForms) -> None:
    """As one row for each sample."""
    if len(net.shape) > 2:
        (summarised if net.is_sequence else as_row)(net)


def _recipe(choices: Choices, net: TwoForms, classes: int) -> dict[str, Any]:
    loss = choices.pick_one(["cross_entropy", "mse"])
    weighs = loss == "cross_entropy" and choices.chance(0.2)
    return {
        "loss": loss, "class_weights": [0.5 + 0.25 * number for number in range(classes)] if weighs else [],
        "smoothing": choices.pick_one([0.0, 0.0, 0.1]) if loss == "cross_entropy" else 0.0,
        "optimizer": _optimizer(choices), "accumulate": choices.pick_one([1, 1, 2]),
        "statistics": "trained" if net.running and choices.chance(0.5) else "frozen",
    }  # fmt: skip


def _optimizer(choices: Choices) -> list[Any]:
    """Adam's epsilon is large, so that gradients that are nothing but rounding move nothing."""
    kind, decay = choices.pick_one(["SGD", "SGD", "Adam", "AdamW"]), choices.pick_one([0.0, 0.0, 0.02])
    if kind != "SGD":
        return [kind, {"rate": choices.pick_one([0.01, 0.03]), "epsilon": 1e-2, "decay": decay}]
    momentum = choices.pick_one([0.0, 0.9])
    nesterov = {"nesterov": True} if momentum and choices.chance(0.3) else {}
    return [kind, {"rate": choices.pick_one([0.05, 0.2]), "momentum": momentum, "decay": decay, **nesterov}]


def _learning(choices: Choices, net: TwoForms) -> list[str]:
    """Names of weights; none for all."""
    if choices.chance(0.7):
        return []
    names = list(net.weights)
    return sorted(names[place] for place in choices.some(len(names)))


def _samples(choices: Choices, net: TwoForms, recipe: Mapping[str, Any]) -> tuple[Array, Array]:
    random, shape = choices.numpy(), (STEPS, *net.given)
    data = random.integers(0, WORDS, shape) if net.dtype == "int64" else random.normal(size=shape)
    if recipe["loss"] == "mse":
        return data.astype(net.dtype), random.normal(size=(STEPS, *net.shape)).astype(np.float32)
    classes = net.shape[-1]
    return data.astype(net.dtype), random.integers(0, classes, (STEPS, net.shape[0])).astype(np.int32)
