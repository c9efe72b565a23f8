"""What training does: steps of optimizers, and normalisation by the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.checks import imported, one_node_model, same
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(4)
OPTIMIZERS: dict[str, tuple[int, dict[str, Any]]] = {
    "Momentum": (3, {"alpha": 0.95, "beta": 0.1, "mode": "standard", "norm_coefficient": 0.01}),
    "Nesterov": (3, {"alpha": 0.95, "beta": 0.1, "mode": "nesterov", "norm_coefficient": 0.0}),
    "Adagrad": (3, {"decay_factor": 0.1, "epsilon": 1e-5, "norm_coefficient": 0.01}),
    "Adam": (4, {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}),
}


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, count: int) -> None:
    kinds, attributes = OPTIMIZERS[name]
    kind = "Momentum" if name == "Nesterov" else name
    feeds = {"rate": np.array(0.1, np.float32), "count": np.array(count)}
    feeds |= {f"x{number}": np.abs(floats(*((2, 3) if number % 2 else (4,)))) for number in range(2 * kinds)}
    model = one_node_model(kind, feeds, 2 * (kinds - 1), domain="ai.onnx.preview.training", **attributes)
    wanted = ReferenceEvaluator(model).run(None, feeds)
    for found, value in zip(imported(model, feeds), wanted, strict=True):
        same(found, np.asarray(value))


def test_batch_normalisation_by_the_batch() -> None:
    x = {"x": floats(2, 3, 4, 5), "scale": floats(3), "bias": floats(3), "mean": floats(3), "var": np.abs(floats(3))}
    model = one_node_model("BatchNormalization", x, 3, 15, training_mode=1, epsilon=1e-2, momentum=0.8)
    for found, value in zip(imported(model, x), ReferenceEvaluator(model).run(None, x), strict=True):
        same(found, np.asarray(value))
