"""Recurrent layers of Keras as ONNX's LSTM, GRU and RNN: TensorFlow has them as loops of many small operations.

While a model is traced, each such layer calls a function that TensorFlow cannot look into; tf2onnx is told what to put
in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array

MARK = "tilewright_recurrent"
"""Begins the names of the nodes that stand for layers."""

FUNCTIONS: dict[str, tuple[str, list[float], list[float]]] = {
    "sigmoid": ("Sigmoid", [], []), "tanh": ("Tanh", [], []), "relu": ("Relu", [], []),
    "linear": ("Affine", [1.0], [0.0]), "hard_sigmoid": ("HardSigmoid", [1 / 6], [0.5]),
    "softsign": ("Softsign", [], []), "elu": ("Elu", [1.0], []), "softplus": ("Softplus", [], []),
}  # fmt: skip
"""Keras's activation -> ONNX's, its alpha and its beta where it has them."""

LSTM_ORDER = (0, 3, 1, 2)
"""Keras has the gates input, forget, cell, output; ONNX input, output, forget, cell."""

Call: TypeAlias = "Callable[..., Any]"


@contextmanager
def kept_whole(layers: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """While this lasts, recurrent layers are traced as one node; yields what tf2onnx needs to know of it."""
    import keras

    kinds = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
    recurrent = [one for one in layers if type(one) in kinds]
    wrapped = [one for one in layers if type(one) is keras.layers.Bidirectional]
    both = [one for one in wrapped if type(one.forward_layer) in kinds and type(one.backward_layer) in kinds]
    read = [(layer, _weights(layer)) for layer in recurrent]  # now: while TensorFlow traces, variables have no values
    for number, layer in enumerate(recurrent):
        object.__setattr__(layer, "call", _call(layer, number))
    for layer in both:
        object.__setattr__(layer, "call", _both_directions(layer))
    try:
        yield {"PyFunc": (lambda *node: _replace(read, *node), [])}
    finally:
        for layer in (*recurrent, *both):
            object.__delattr__(layer, "call")


# ---- while tracing ----------------------------------------------------------------------------------------------


def _call(layer: Any, number: int) -> Call:
    def call(sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False) -> Any:
        results = _marked(layer, number, sequences, initial_state, mask)
        ordered = _reversed(results[0]) if layer.go_backwards and layer.return_sequences else results[0]
        return (ordered, *results[1:]) if layer.return_state else ordered

    call.number = number  # type: ignore[attr-defined]
    return call


def _reversed(x: Any) -> Any:
    import tensorflow as tf

    return tf.reverse(x, [1])


def _marked(layer: Any, number: int, sequences: Any, initial_state: Any, mask: Any) -> list[Any]:
    """The layer's sequence or last value, and its states; sequences in the order of time, whatever the direction."""
    import tensorflow as tf

    _refuse(layer, mask)
    states = 2 if type(layer).__name__ == "LSTM" else 1
    begin = [] if initial_state is None else tf.nest.flatten(initial_state)
    if not sequences.shape.is_fully_defined():
        raise CompileError(layer.name, f"gets a sequence of shape {sequences.shape}", "give example inputs")
    batch, steps, _ = sequences.shape
    shapes = [(batch, steps, layer.units) if layer.return_sequences else (batch, layer.units)]
    shapes += [(batch, layer.units)] * (states if layer.return_state else 0)
    types = [sequences.dtype] * len(shapes)
    found = tf.numpy_function(lambda *values: values, [sequences, *begin], types, name=f"{MARK}_{number}")
    return [tf.reshape(value, shape) for value, shape in zip(found, shapes, strict=True)]


def _refuse(layer: Any, mask: Any) -> None:
    if mask is not None:
        raise CompileError(
            layer.name, "uses a mask", "leave out mask_zero and Masking: all sequences must have the same length"
        )
    if layer.stateful:
        raise CompileError(layer.name, "keeps its state between calls", "use stateful=False, states as inputs")
    names = [layer.activation.__name__, getattr(layer, "recurrent_activation", layer.activation).__name__]
    unknown = [name for name in names if name not in FUNCTIONS]
    if unknown:
        raise CompileError(layer.name, f"activation {unknown[0]} is not supported", f"known: {', '.join(FUNCTIONS)}")


def _both_directions(layer: Any) -> Call:
    """Both directions in the order of time, joined as the layer says."""

    def call(sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False) -> Any:
        parts = (layer.forward_layer, layer.backward_layer)
        given = [None, None] if initial_state is None else np.array_split(np.asarray(initial_state, object), 2)
        states = [None if part is None else list(part) for part in given]
        found = [
            _marked(part, part.call.number, sequences, state, mask) for part, state in zip(parts, states, strict=True)
        ]
        first, second = (results[0] for results in found)
        joined = _joined(layer.merge_mode, first, second)
        if not layer.return_state:
            return joined
        values = joined if isinstance(joined, tuple) else (joined,)
        return (*values, *found[0][1:], *found[1][1:])

    return call


def _joined(mode: str | None, first: Any, second: Any) -> Any:
    import tensorflow as tf

    if mode == "concat":
        return tf.concat([first, second], -1)
    if mode == "mul":
        return first * second
    if mode is None:
        return first, second
    return first + second if mode == "sum" else (first + second) / 2


# ---- while converting -------------------------------------------------------------------------------------------


def _replace(layers: Sequence[tuple[Any, list[Array]]], context: Any, node: Any, name: str, arguments: Any) -> None:
    """ONNX's operator in the place of a layer's node. The user's own calls of Python stay, and are refused later."""
    word = name.rpartition(f"{MARK}_")[2]
    if not word.isdigit():
        return
    (layer, read), inputs, outputs = layers[int(word)], list(node.input), list(node.output)
    context.remove_node(node.name)
    weights = [
        context.make_const(f"{name}.{part}", value[None]).output[0]
        for part, value in zip(("kernel", "recurrent_kernel", "bias"), read, strict=True)
    ]
    _emit(context, name, layer, inputs, weights, outputs)


def _emit(
    context: Any, path: str, layer: Any, inputs: Sequence[str], weights: Sequence[str], outputs: Sequence[str]
) -> None:
    """The operator, between the layer's order of axes and ONNX's: time comes first there, directions are an axis."""
    kind, numbers = _kind(layer), count()

    def add(kind: str, operands: Sequence[str], results: Sequence[str] | None = None, **attributes: Any) -> list[str]:
        name = f"{path}/{kind}_{next(numbers)}"
        return list(context.make_node(kind, list(operands), name=name, outputs=results, attr=attributes).output)

    axes = [context.make_const(f"{path}_axis_{a}", np.asarray([a], np.int64)).output[0] for a in (0, 1)]
    begin = [add("Unsqueeze", [state, axes[0]])[0] for state in inputs[1:]]
    (by_time,) = add("Transpose", [inputs[0]], perm=[1, 0, 2])
    results = [f"{path}/{part}" for part in ("sequence", "hidden", "cell")[: 3 if kind == "LSTM" else 2]]
    every, *last = add(kind, [by_time, *weights, "", *begin], results, **_attributes(layer, kind))
    if layer.return_sequences:
        add("Transpose", add("Squeeze", [every, axes[1]]), outputs[:1], perm=[1, 0, 2])
    else:
        add("Squeeze", [last[0], axes[0]], outputs[:1])
    for state, result in zip(last, outputs[1:], strict=False):
        if state == last[0] and not layer.return_sequences:  # tf2onnx would trip over the same node twice
            add("Identity", outputs[:1], [result])
        else:
            add("Squeeze", [state, axes[0]], [result])


def _attributes(layer: Any, kind: str) -> dict[str, Any]:
    gate = FUNCTIONS[getattr(layer, "recurrent_activation", layer.activation).__name__]
    inner = FUNCTIONS[layer.activation.__name__]
    functions = {"LSTM": [gate, inner, inner], "GRU": [gate, inner], "RNN": [inner]}[kind]
    found = {
        "hidden_size": layer.units, "direction": "reverse" if layer.go_backwards else "forward",
        "activations": [name for name, _, _ in functions],
    }  # fmt: skip
    alphas, betas = ([value for one in functions for value in one[part]] for part in (1, 2))
    found |= {"activation_alpha": alphas} if alphas else {}
    found |= {"activation_beta": betas} if betas else {}
    return found | ({"linear_before_reset": int(layer.reset_after)} if kind == "GRU" else {})


def _kind(layer: Any) -> str:
    return {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}[type(layer).__name__]


def _weights(layer: Any) -> list[Array]:
    """W, R and B as ONNX has them: gates one after another in rows."""
    kind = _kind(layer)
    kernel, recurrent = (np.asarray(part).T for part in (layer.cell.kernel, layer.cell.recurrent_kernel))
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    bias = np.zeros((2, gates * layer.units), np.float32)
    if layer.use_bias:
        given = np.asarray(layer.cell.bias)
        bias[: given.ndim] = given  # one row, or one for the input and one for the state
    order = LSTM_ORDER if kind == "LSTM" else tuple(range(gates))
    rows = np.concatenate([np.arange(gate * layer.units, (gate + 1) * layer.units) for gate in order])
    return [np.ascontiguousarray(part) for part in (kernel[rows], recurrent[rows], bias[:, rows].reshape(-1))]
