"""Random recurrent cells and layers with operands. Used by the tests of operators and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import ALPHAS, BETAS, FUNCTIONS, GateFunction
from tilewright.ops._gate_tables import table_of
from tilewright.ops._scaling import Scaling
from tilewright.ops.grucells import GRUCells
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.qlineargrucells import QLinearGRUCells
from tilewright.ops.qlinearlstmcells import QLinearLSTMCells
from tilewright.ops.rnncells import RNNCells

KINDS: tuple[type[Cells], ...] = (LSTMCells, GRUCells, RNNCells)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def floats(random: Generator, *shape: int) -> Array:
    return random.normal(0, 0.5, shape).astype(np.float32)


def function(random: Generator) -> GateFunction:
    """A bounded one: states that grow from step to step would make much of every rounding."""
    name = str(random.choice(["Sigmoid", "Tanh", "HardSigmoid", "ScaledTanh", "Softsign"]))
    return GateFunction(name, ALPHAS.get(name, 0.0), BETAS.get(name, 0.0))


def every_function() -> list[Case]:
    """Each of a ramp, in one step."""
    x = np.linspace(-6, 6, 49, dtype=np.float32).reshape(1, 1, 49)
    functions = [GateFunction(name, ALPHAS.get(name, 0.0), BETAS.get(name, 0.0)) for name in FUNCTIONS]
    functions += [GateFunction("Affine", 0.5, -2.0), GateFunction("ScaledTanh", 1.5, 0.25)]
    return [(RNNCells((function,)), [x, np.zeros((49, 49), np.float32)]) for function in functions]


def cells(kind: type[Cells], random: Generator) -> Case:
    steps, batch, hidden = (int(random.integers(1, most)) for most in (6, 4, 40))
    count = len(kind().functions)
    functions = tuple(function(random) for _ in range(count)) if random.random() < 0.4 else kind().functions
    flag = {LSTMCells: "input_forget", GRUCells: "linear_before_reset"}.get(kind)
    given: dict[str, Any] = {"reverse": random.random() < 0.4, "clip": 0.3 if random.random() < 0.3 else 0.0}
    if flag:
        given[flag] = bool(random.random() < 0.5)
    op = kind(functions, **given, **({"dynamic": random.random() < 0.2} if kind is LSTMCells else {}))
    width = op.gates * hidden
    is_product_given = (
        random.random() < 0.2 and not getattr(op, "dynamic", False) and (flag != "linear_before_reset" or given[flag])
    )
    steps = 1 if is_product_given else steps
    operands: dict[str, Callable[[], Array]] = {
        "X": lambda: floats(random, steps, batch, width),
        "R": lambda: floats(random, width, hidden),
        "H": lambda: floats(random, batch, hidden),
        "C": lambda: floats(random, batch, hidden),
        "N": lambda: random.integers(0, steps + 1, batch).astype(np.int32),
        "P": lambda: floats(random, 3 * hidden),
        "B": lambda: floats(random, hidden),
        "S": lambda: floats(random, batch, width),
    }
    absent = {"R"} if is_product_given else {"S"}
    if flag == "linear_before_reset" and not given[flag]:
        absent.add("B")
    absent |= {name for name in ("H", "C", "N", "P", "B") if random.random() < 0.4}
    names = [name.rstrip("?") for name in op.operands]
    return op, [None if name in absent else operands[name]() for name in names]


def quantised(random: Generator) -> Case:
    """An LSTM of integers, with factors that use the range of the gates."""
    steps, batch, hidden = (int(random.integers(1, most)) for most in (6, 4, 40))
    hidden = -(-hidden // 4) * 4 if random.random() < 0.5 else hidden
    width = 4 * hidden
    out = Scaling(int(random.integers(2**13, 2**15)), 0, full_range(37, "int8", int(random.integers(-9, 9))))
    reverse, coupled = bool(random.random() < 0.4), bool(random.random() < 0.3)
    # Wide products, or their high words: with larger factors the same sums.
    bits = int(random.integers(0, 2)) * 10
    shifts = (5, 25 + bits, 5, 19 + bits + 4) if bits else (0, 20, 0, 14)
    op = QLinearLSTMCells((), reverse, 0.0, *shifts, out, int(random.integers(8, 13)), coupled)
    factors = [
        random.integers(low, 4 * low, width if random.random() < 0.5 else 1)
        for low in (2 ** (19 + bits), 2 ** (12 + bits + (4 if bits else 0)))
    ]
    arrays: list[Array | None] = [
        random.integers(-9000, 9000, (steps, batch, width)).astype(np.int32),
        random.integers(-128, 128, (width, hidden)).astype(np.int8),
        *(values.astype(np.int32) for values in factors), table_of("Sigmoid"), table_of("Tanh"),
        random.integers(-900, 900, width).astype(np.int32), random.integers(-128, 128, (batch, hidden)).astype(np.int8),
        random.integers(-(2**14), 2**14, (batch, hidden)).astype(np.int16),
        random.integers(0, steps + 1, batch).astype(np.int32),
    ]  # fmt: skip
    return op, [None if position > 5 and random.random() < 0.4 else array for position, array in enumerate(arrays)]


def quantised_gru(random: Generator) -> Case:
    """The same operands with a gate less, and without an output to begin with."""
    op, arrays = quantised(random)
    assert isinstance(op, QLinearLSTMCells)
    out = Scaling(int(random.integers(2**28, 2**30)), 0, full_range(37, "int8", int(random.integers(-9, 9))))
    made = QLinearGRUCells((), op.reverse, 0.0, op.x_up, op.x_down, op.r_up, op.r_down, out)
    x, r, mx, mr, sigmoid, tanh, b, _, c, n = arrays
    width = np.asarray(x).shape[2] // 4 * 3
    mx, mr, b = (None if each is None else each[:width] for each in (mx, mr, b))
    return made, [np.asarray(x)[:, :, :width].copy(), np.asarray(r)[:width].copy(), mx, mr, sigmoid, tanh, b, c, n]


def layer(kind: str, random: Generator) -> tuple[dict[str, Array | None], dict[str, Any]]:
    """Operands of ONNX's operator (None: absent) and its attributes."""
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    directions, gates = (2 if direction == "bidirectional" else 1), GATES[kind]
    steps, batch, inputs, hidden = (int(random.integers(1, most)) for most in (6, 4, 8, 12))
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": hidden}
    if random.random() < 0.3:
        attributes["clip"] = 0.4
    flag = {"LSTM": "input_forget", "GRU": "linear_before_reset"}.get(kind)
    if flag:
        attributes[flag] = int(random.integers(0, 2))
    arrays: dict[str, Array | None] = {
        "X": floats(random, steps, batch, inputs),
        "W": floats(random, directions, gates * hidden, inputs),
        "R": floats(random, directions, gates * hidden, hidden),
        "B": floats(random, directions, 2 * gates * hidden),
        "N": random.integers(0, steps + 1, batch).astype(np.int32),
        "H": floats(random, directions, batch, hidden),
        "C": floats(random, directions, batch, hidden),
        "P": floats(random, directions, 3 * hidden),
    }
    for name in ("B", "N", "H", "C", "P"):
        arrays[name] = None if random.random() < 0.35 else arrays[name]
    if kind != "LSTM":
        del arrays["C"], arrays["P"]
    return arrays, attributes


MAKERS: dict[str, Callable[[Generator], Case]] = {
    **{kind.__name__: partial(cells, kind) for kind in KINDS},
    "QLinearLSTMCells": quantised,
    "QLinearGRUCells": quantised_gru,
}
