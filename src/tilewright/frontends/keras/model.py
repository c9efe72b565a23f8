"""Keras and TensorFlow in: models, functions and SavedModels, through tf2onnx in memory, with fixed shapes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.exported import Exported, Own
from tilewright.frontends.frameworks import require
from tilewright.frontends.keras import recurrent as keras_recurrent
from tilewright.frontends.keras import tensorflow_graphs
from tilewright.frontends.keras.tensorflow_operations import HANDLERS
from tilewright.frontends.onnx import renaming
from tilewright.frontends.python_errors import is_ours, reason_of, user_line
from tilewright.frontends.quiet import silence, silence_library
from tilewright.frontends.result_names import named_results
from tilewright.ir.arrays import Given, arrays_of
from tilewright.records import dataclass

OPSET = 18


@dataclass(frozen=True)
class Source:
    """A function of tensors in order, what it takes, and what it is called."""

    function: Callable[..., Any]
    names: list[str]
    """Of the inputs; empty where the example inputs give them."""
    shapes: list[Sequence[int | None]]
    dtypes: list[str]
    title: str
    layers: list[Any]


def exported(model: Any, example_inputs: Given | None) -> Exported:
    """The ONNX model of a Keras model, a tf.function or a SavedModel, its nodes named as the layers are."""
    require("tensorflow", "tensorflow", "tf2onnx", "keras")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with silence(), silence_library():
        source = _source(model)
        specs = _specs(source, example_inputs)
        proto, results = _converted(source, specs)
    proto.graph.name = source.title
    scopes = [_scope(node.name, [layer.name for layer in source.layers]) for node in proto.graph.node]
    return Exported(renaming.renamed(proto, scopes, results), source.title, lambda: _own(source, specs, example_inputs))


def _own(source: Source, specs: Sequence[Any], example_inputs: Given | None) -> Own:
    """What TensorFlow computes of the example inputs, or of numbers at random."""
    import tensorflow as tf

    if example_inputs is None:
        chance = np.random.default_rng(0)
        arrays = [chance.uniform(0, 1, spec.shape).astype(spec.dtype.as_numpy_dtype) for spec in specs]
    else:
        held = _in_order(source, arrays_of(example_inputs, "input")).values()
        arrays = [np.asarray(array, spec.dtype.as_numpy_dtype) for array, spec in zip(held, specs, strict=True)]
    with silence(), silence_library():
        results = named_results(source.function(*map(tf.constant, arrays)))
    inputs = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
    return Own(inputs, [np.asarray(value) for _, value in results])


# ---- what is compiled -------------------------------------------------------------------------------------------


def _source(model: Any) -> Source:
    import keras

    if isinstance(model, str | Path):
        return _from_file(Path(model))
    if isinstance(model, keras.layers.Layer):
        return _from_keras(model)
    if not callable(model):
        raise CompileError("model", f"is a {type(model).__name__}, which cannot be called", "compile a keras.Model")
    return Source(model, [], [], [], "function", [])


def _from_file(path: Path) -> Source:
    import keras

    try:
        if path.is_dir():
            return _from_saved_model(path)
        return _from_keras(keras.saving.load_model(path, compile=False))
    except Exception as error:
        if is_ours(error):
            raise
        raise CompileError(
            str(path), f"cannot be read: {reason_of(error)}", "save it again with this version"
        ) from None


def _from_keras(model: Any) -> Source:
    import keras

    if keras.backend.backend() != "tensorflow":
        raise CompileError(
            model.name, f"runs on Keras's backend '{keras.backend.backend()}'",
            "set KERAS_BACKEND=tensorflow, save the model and load it there",
        )  # fmt: skip
    inputs = getattr(model, "inputs", None) or []

    def call(*arrays: Any) -> Any:
        return model(arrays[0] if len(arrays) == 1 else list(arrays), training=False)

    layers = list(model._flatten_layers(include_self=True))
    names = [value.name for value in inputs]
    return Source(call, names, [value.shape for value in inputs], [value.dtype for value in inputs], model.name, layers)


def _from_saved_model(path: Path) -> Source:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))
    signature = _signature(path, loaded.signatures)
    specs = signature.structured_input_signature[1]

    def call(*arrays: Any) -> Any:
        return signature(**dict(zip(specs, arrays, strict=True)))

    shapes, dtypes = [spec.shape.as_list() for spec in specs.values()], [spec.dtype.name for spec in specs.values()]
    call.loaded = loaded  # type: ignore[attr-defined]  # its variables live as long as it does
    return Source(call, list(specs), shapes, dtypes, path.name, [])


def _signature(path: Path, signatures: Mapping[str, Any]) -> Any:
    if "serving_default" in signatures:
        return signatures["serving_default"]
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    known = ", ".join(signatures) or "none"
    raise CompileError(str(path), f"has no signature serving_default (it has: {known})", "save it with one")


# ---- shapes -----------------------------------------------------------------------------------------------------


def _specs(source: Source, example_inputs: Given | None) -> list[Any]:
    """Shapes and types of the inputs: those of the examples, or the model's own with a batch of 1."""
    import tensorflow as tf

    if example_inputs is None:
        shapes, dtypes = [_fixed(source, i) for i in range(len(source.names))], source.dtypes
        names = source.names
    else:
        arrays = _in_order(source, arrays_of(example_inputs, "input"))
        names = source.names or [name if not name.isdigit() else f"input_{name}" for name in arrays]
        shapes = [array.shape for array in arrays.values()]
        dtypes = source.dtypes or [_dtype(array) for array in arrays.values()]
    if not names:
        raise CompileError(source.title, "needs example inputs, which give its shapes", "tw.compile(model, (x,))")
    # tf2onnx takes names as they are, and TensorFlow only some characters.
    plain = [re.sub(r"[^A-Za-z0-9_.]", "_", name) for name in names]
    return [tf.TensorSpec(*spec) for spec in zip(shapes, dtypes, plain, strict=True)]


def _in_order(source: Source, arrays: dict[str, Any]) -> dict[str, Any]:
    if source.names and len(arrays) != len(source.names):
        raise CompileError(
            source.title,
            f"takes {len(source.names)} inputs ({', '.join(source.names)}), {len(arrays)} are given",
            "give one array for each input",
        )
    return {name: arrays[name] for name in source.names} if set(source.names) == set(arrays) else arrays


def _dtype(array: Any) -> str:
    return "float32" if array.dtype == np.float64 else str(array.dtype.name)


def _fixed(source: Source, position: int) -> list[int]:
    """A shape with a batch of 1; other axes without a size need an example."""
    shape = source.shapes[position]
    if any(size is None for size in shape[1:]):
        raise CompileError(
            f"input '{source.names[position]}'", f"has shape {tuple(shape)}, not all of it fixed",
            "give example inputs: tw.compile(model, (x,))",
        )  # fmt: skip
    return [1 if size is None else int(size) for size in shape]


# ---- conversion -------------------------------------------------------------------------------------------------


def _converted(source: Source, specs: list[Any]) -> tuple[Any, list[str]]:
    """The ONNX model, and the names of its results."""
    import tensorflow as tf
    import tf2onnx

    found: list[str] = []

    def flat(*arrays: Any) -> list[Any]:
        named = named_results(source.function(*arrays))
        found[:] = [name for name, _ in named]
        return [tf.identity(value) for _, value in named]

    try:
        with keras_recurrent.kept_whole(source.layers) as handlers:
            function = tf.function(flat, input_signature=specs, autograph=False)
            traced = function.get_concrete_function()
            tensorflow_graphs.refuse_changed_variables(source.title, traced.graph)
            handlers = {**handlers, **HANDLERS}
            proto, _ = tf2onnx.convert.from_function(function, specs, opset=OPSET, custom_op_handlers=handlers)
            tensorflow_graphs.fix_captured(proto.graph, traced.graph)
    except Exception as wrapped:
        error = _unwrapped(wrapped)
        if isinstance(error, CompileError) or is_ours(error):
            raise error from None
        line = user_line(error, tf)
        where = f"{source.title}{f', {line}' if line else ''}"
        raise CompileError(
            where, f"cannot be converted: {reason_of(error)}", "the model must run on the example inputs"
        ) from None
    return proto, found


def _unwrapped(error: BaseException) -> BaseException:
    """What went wrong: Keras puts one error around another for every layer on the way."""
    inner = error.__cause__ or error.__context__
    return _unwrapped(inner) if inner is not None and "Exception encountered when calling" in str(error) else error


def _scope(node: str, layers: Sequence[str]) -> str:
    """The innermost layer that a node's path names; while it traces, TensorFlow adds a number to each."""
    for word in reversed(node.split("/")[:-1]):
        found = next((name for name in (re.sub(r"_\d+$", "", word), word) if name in layers), None)
        if found is not None:
            return found
    return ""
