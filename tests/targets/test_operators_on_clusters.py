"""Operators with portable kernels alone, and those that become others, on targets with a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.classifiers import listed, samples
from tilewright.ir.types import Array
from tilewright.program import compile_model
from tilewright.target.settings import Settings

RANDOM = np.random.default_rng(9)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def network(
    kind: str, inputs: dict[str, Array], outputs: int, constants: dict[str, Array] | None = None, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """One node, and what it is run on."""
    constants = constants or {}
    names = [f"y{position}" for position in range(outputs)]
    node = helper.make_node(kind, [*inputs, *constants], names, **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in names]
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    opsets = [
        helper.make_opsetid("", 20),
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("ai.onnx.ml", 3),
    ]
    return helper.make_model(helper.make_graph([node], "one", infos, results, weights), opset_imports=opsets), inputs


def a_cache() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Attention with a past of fixed length, written at a place that is known only at run time."""
    new = {"q": floats(1, 1, 64), "k": floats(1, 1, 32), "v": floats(1, 1, 32)}
    past = {"pk": floats(1, 2, 24, 16), "pv": floats(1, 2, 24, 16)}
    lengths = {"length": np.array([9], np.int32), "total": np.array([10], np.int32)}
    at = {"domain": "com.microsoft", "num_heads": 4, "kv_num_heads": 2}
    return network("GroupQueryAttention", {**new, **past, **lengths}, 3, **at)


def packed_weights() -> tuple[onnx.ModelProto, dict[str, Array]]:
    weights = {"b": RANDOM.integers(0, 256, (70, 4, 16)).astype(np.uint8), "s": floats(280)}
    at = {"domain": "com.microsoft", "K": 128, "N": 70, "bits": 4, "block_size": 32}
    return network("MatMulNBits", {"a": floats(5, 128)}, 1, weights, **at)


def forest() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Decision trees, and the label that they give most."""
    trees = listed(RANDOM, 6, 3, 20, "class", ("LEQ",)) | {"classlabels_int64s": [2, 5, 9], "post_transform": "SOFTMAX"}
    return network("TreeEnsembleClassifier", {"x": samples(RANDOM, 9, 6)}, 2, domain="ai.onnx.ml", **trees)


def support_vectors() -> tuple[onnx.ModelProto, dict[str, Array]]:
    numbers = {
        "coefficients": floats(18).tolist(), "rho": [0.1, 0.2, 0.3], "support_vectors": floats(36).tolist(),
        "prob_a": [1.0, 2.0, 0.5], "prob_b": [0.1, 0.2, 0.3], "kernel_params": [0.2, 0.0, 0.0],
    }  # fmt: skip
    at = {"kernel_type": "RBF", "vectors_per_class": [3, 3, 3], "classlabels_ints": [0, 1, 2]}
    return network("SVMClassifier", {"x": floats(5, 4)}, 2, domain="ai.onnx.ml", **numbers, **at)


NETWORKS: dict[str, Callable[[], tuple[onnx.ModelProto, dict[str, Array]]]] = {
    "TopK": lambda: network("TopK", {"x": floats(40, 100)}, 2, {"k": np.array([5])}),
    "STFT": lambda: network("STFT", {"x": floats(1, 900, 1)}, 1, {"step": np.array(100), "window": floats(128)}),
    "GridSample": lambda: network("GridSample", {"x": floats(1, 3, 9, 9), "at": floats(1, 7, 8, 2)}, 1),
    "Einsum": lambda: network("Einsum", {"q": floats(2, 9, 8), "k": floats(2, 7, 8)}, 1, equation="bid,bjd->bij"),
    "MatMulNBits": packed_weights,
    "GroupQueryAttention": a_cache,
    "TreeEnsembleClassifier": forest,
    "SVMClassifier": support_vectors,
    "float16": lambda: network("Sin", {"x": floats(7, 9).astype(np.float16)}, 1),
}


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["quad", "siracusa"])
@pytest.mark.parametrize("name", NETWORKS)
def test_operators_agree(name: str, target: str) -> None:
    model, inputs = NETWORKS[name]()
    made = compile_model(model, target=target, settings=Settings(time_limit=1.0))
    assert made.check(inputs).first_difference is None
