"""A network and words of the command line as a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.training.channels import rejoined
from tilewright.training.graphs import Training
from tilewright.training.losses import loss_of
from tilewright.training.making import Recipe, make_training
from tilewright.training.optimizers import SGD, Adam, AdamW, Optimizer
from tilewright.training.reading import check_batch, read

OPTIMIZERS: Mapping[str, type[SGD | Adam | AdamW]] = {"sgd": SGD, "adam": Adam, "adamw": AdamW}
EXAMPLE = "for example sgd:0.01, sgd:0.01:momentum=0.9 or adam:0.001"


def optimizer_of(words: str) -> Optimizer:
    """`sgd:0.01:momentum=0.9` as what it says."""
    kind, *settings = words.split(":")
    if kind not in OPTIMIZERS:
        raise CompileError(f"--optimizer {words}", "is neither a file of a graph nor a known optimizer", EXAMPLE)
    known, found = OPTIMIZERS[kind].__dataclass_fields__, dict[str, float]()
    for number, word in enumerate(settings):
        name, sign, value = word.rpartition("=")
        name = name if sign else "rate" if number == 0 else word
        if name not in known or name in ("betas", "nesterov"):
            numbers = ", ".join(one for one in known if one not in ("betas", "nesterov"))
            raise CompileError(f"--optimizer {words}", f"'{name}' is no number of {kind}", f"there are {numbers}")
        found[name] = _number(words, value)
    return OPTIMIZERS[kind](**found)  # type: ignore[arg-type]


def _number(words: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise CompileError(f"--optimizer {words}", f"'{value}' is no number", EXAMPLE) from None


def read_model(
    model: Path, loss: str, optimizer: str, trainable: str, batch: int | None = None, accumulate: int = 1,
    options: Mapping[str, Any] | None = None, seed: int = 0, in_place: bool = False,
) -> tuple[Training, Recipe]:  # fmt: skip
    """The training of a network that is a file, which drops elements if the file says so, and how it is trained."""
    made = optimizer_of(optimizer)
    found = read(model, None, batch, options or {})
    dropped = found.dropped
    recipe = Recipe(loss_of(loss), made, trainable, accumulate, in_place=in_place, dropout=dropped, seed=seed)
    training = make_training(replace(found.graph, name=model.stem), recipe, found.learning)
    check_batch(training.train, batch)
    return training, recipe


def learned(training: Training, weights: Mapping[str, Array]) -> Graph:
    """The network with what was learned as constants."""
    infer = training.infer
    if infer is None:
        raise CompileError("export", "the training graph does not say what inference computes", "leave it out")
    known = {name: state.initial for name, state in training.states.items()} | dict(weights)
    states = [state for state in infer.states if state.name in known and state.before == state.after]
    values = {state.before: np.asarray(known[state.name], np.float32) for state in states}
    kept = tuple(state for state in infer.states if state not in states)
    return rejoined(replace(infer, name=training.name, states=kept, constants={**infer.constants, **values}))
