"""LSTM, GRU and RNN in all directions, with and without their optional inputs, also one behind another."""

from __future__ import annotations

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.net import Net
from tests.support.recurrent import layer

RESULTS = {"LSTM": 3, "GRU": 2, "RNN": 2}
INTEGERS = "N"


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room, choices.pick_one([14, 17, 22]))
    sequence = _add(net, "")
    if sequence and choices.chance(0.3):
        y = net.values[sequence]
        (flat,) = net.add("Transpose", [sequence], perm=[0, 2, 1, 3])
        (flat,) = net.add("Reshape", [flat, net.ints(y.shape[0], y.shape[2], -1)])
        _add(net, flat)
    return net.case()


def _add(net: Net, x: str) -> str:
    """A layer on a sequence, or on one of its own; its sequence of results."""
    kind = net.choice(["LSTM", "GRU", "RNN"])
    arrays, attributes = layer(kind, net.choices)  # type: ignore[arg-type]
    if x:
        _fit(net, arrays, net.values[x].shape)
    names = {name: "" if array is None else _given(net, name, np.asarray(array)) for name, array in arrays.items()}
    operands = [x or names["X"], *list(names.values())[1:]]
    while operands[-1] == "":
        operands.pop()
    made = net.add(kind, operands, RESULTS[kind], **attributes)
    if not made:
        raise Dull("no runtime takes the layer")
    return made[0]


def _given(net: Net, name: str, array: object) -> str:
    constant = name in "WRBP" if net.chance(0.9) else None
    return net.give(np.asarray(array), constant)


def _fit(net: Net, arrays: dict, shape: tuple[int, ...]) -> None:
    """Operands for a sequence of another shape."""
    steps, batch, width = shape
    old = arrays["W"].shape
    arrays["X"] = np.zeros(shape, np.float32)
    arrays["W"] = net.choices.normal(0, 0.5, (*old[:2], width)).astype(np.float32)
    for name in ("H", "C"):
        if arrays.get(name) is not None:
            sizes = arrays[name].shape
            arrays[name] = net.choices.normal(0, 0.5, (sizes[0], batch, sizes[2])).astype(np.float32)
    if arrays.get(INTEGERS) is not None:
        arrays[INTEGERS] = net.choices.integers(1, steps + 1, batch).astype(np.int32)
