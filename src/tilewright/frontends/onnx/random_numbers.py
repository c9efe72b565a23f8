"""Operators that draw random numbers: with the user's seed they are constants, drawn when the model is read."""

from __future__ import annotations

import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper

from tilewright.errors import Refusal
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.types import Array, TensorType

KINDS = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"})


def drawn(node: onnx.NodeProto, like: TensorType | None, seed: int | None) -> Array:
    """The constant that a node becomes, of its own numbers; `like` is the type of its operand, if it has one."""
    if seed is None:
        raise Refusal(
            "draws random numbers",
            "make them an input; with random_seed=N (--random-seed N) they are drawn once, when it is compiled",
        )
    found = onnx_file.attributes(node)
    code = found.get("dtype", 0)
    if not code and like is None and not node.op_type.endswith("Like"):
        code = TensorProto.FLOAT
    shape = found["shape"] if like is None else like.shape
    numbers = np.random.default_rng([seed, zlib.crc32(node.output[0].encode())])
    if node.op_type.startswith("RandomNormal"):
        made = numbers.normal(found.get("mean", 0.0), found.get("scale", 1.0), shape)
    else:
        made = numbers.uniform(found.get("low", 0.0), found.get("high", 1.0), shape)
    element = helper.tensor_dtype_to_np_dtype(code) if code else np.dtype(like.element if like else np.float32)
    return np.asarray(made).astype(element)
