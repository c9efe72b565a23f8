"""What other runtimes give for a model, where they are installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from onnx import ModelProto

from tilewright.ir.types import Array

RESOLVERS = {"reference": "BUILTIN_REF", "optimised": "BUILTIN_WITHOUT_DEFAULT_DELEGATES"}
"""Of LiteRT, by the rounding that has their bits."""
MICRO = "tflite_micro.python.tflite_micro.runtime"
MICRO_ARENA = 2**18


@cache
def module(name: str) -> Any:
    """None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@cache
def _options() -> Any:
    options = module("onnxruntime").SessionOptions()
    options.graph_optimization_level = module("onnxruntime").GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def onnx_runtime(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array] | None:
    """Without optimisations; None where it is not installed or does not take the model."""
    runtime = module("onnxruntime")
    if runtime is None:
        return None
    try:
        session = runtime.InferenceSession(model.SerializeToString(), _options(), providers=["CPUExecutionProvider"])
        return [np.asarray(value) for value in session.run(None, dict(feeds))]
    except Exception:  # an attribute or type that it does not take
        return None


def tensorflow_lite(data: bytes, inputs: Sequence[Array], outputs: int, rounding: str) -> list[Array] | None:
    """By the runtime whose bits a rounding has; None where it is not installed or does not take the model."""
    try:
        if rounding == "micro":
            return _micro(data, inputs, outputs)
        return _litert(data, inputs, RESOLVERS[rounding])
    except Exception:  # an operator, a version or a type that it does not take
        return None


def _micro(data: bytes, inputs: Sequence[Array], outputs: int) -> list[Array] | None:
    if module(MICRO) is None:
        return None
    interpreter = module(MICRO).Interpreter.from_bytes(data, arena_size=MICRO_ARENA)
    for position, array in enumerate(inputs):
        interpreter.set_input(array, position)
    interpreter.invoke()
    return [interpreter.get_output(position) for position in range(outputs)]


def _litert(data: bytes, inputs: Sequence[Array], resolver: str) -> list[Array] | None:
    runtime = module("ai_edge_litert.interpreter")
    if runtime is None:
        return None
    kind = getattr(runtime.OpResolverType, resolver)
    interpreter = runtime.Interpreter(model_content=data, experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
