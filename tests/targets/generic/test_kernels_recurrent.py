"""The C kernels of recurrent cells compute what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import check_kernels, check_tiled
from tests.support.recurrent import KINDS, cells
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import ALPHAS, BETAS, FUNCTIONS, GateFunction
from tilewright.ops.rnncells import RNNCells


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kernels_equal_numpy(kind: type[Cells]) -> None:
    random = np.random.default_rng(21)
    check_kernels([cells(kind, random) for _ in range(40)])


def test_every_function_of_gates() -> None:
    x = np.linspace(-6, 6, 49, dtype=np.float32).reshape(1, 1, 49)
    functions = [GateFunction(name, ALPHAS.get(name, 0.0), BETAS.get(name, 0.0)) for name in FUNCTIONS]
    functions += [GateFunction("Affine", 0.5, -2.0), GateFunction("ScaledTanh", 1.5, 0.25)]
    check_kernels([(RNNCells((function,)), [x, np.zeros((49, 49), np.float32)]) for function in functions])


@pytest.mark.fast
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_sequences_may_be_taken_apart(kind: type[Cells]) -> None:
    random = np.random.default_rng(22)
    for _ in range(20):
        check_tiled(*cells(kind, random), {"b": 1})
