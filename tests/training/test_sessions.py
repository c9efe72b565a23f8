"""The loop of steps and updates, in C."""

from __future__ import annotations

import numpy as np
import pytest

from tests.training.line import WEIGHTS, line
from tilewright.training.compiling import compile_training
from tilewright.training.folder import LearnerC
from tilewright.training.sessions import session

TARGETS = ["generic", "cpu", "siracusa", "snitch", "cortex-m4", "rv32"]


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", TARGETS)
def test_steps_updates_and_inference_share_weights(target: str) -> None:
    running = session(LearnerC(compile_training(line(), target)))
    x = np.array([[1, 2, 3, 4], [0, 1, -1, 2]], np.float32)
    goal, weights = x * np.array([1, 1, 1, 1], np.float32), WEIGHTS.copy()
    for _ in range(2):
        losses = [float(running.train({"x": x[n], "label": goal[n]}).outputs["loss"]) for n in range(2)]
        wanted = [np.mean((weights * x[n] - goal[n]) ** 2) for n in range(2)]
        gradient = sum((weights * x[n] - goal[n]) * x[n] / 2 for n in range(2))
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
        running.update()
        weights = weights - 0.1 * gradient
        np.testing.assert_allclose(running.state("w"), weights, rtol=1e-5)
    np.testing.assert_allclose(running.infer({"x": x[0]}).outputs["y"], weights * x[0], rtol=1e-5)
