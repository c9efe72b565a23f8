"""Operators that draw random numbers: refused without a seed, constants of the stated distribution with one."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import tilewright as tw
from tilewright.ir.types import Array

MODEL = """
<ir_version: 8, opset_import: ["": 17]>
g (float[40, 50] x) => (float[40, 50] y, float[2000] z, double[40, 50] u, float[40, 50] v) {
  y = RandomNormalLike <mean = 3.0, scale = 2.0> (x)
  z = RandomUniform <low = -1.0, high = 5.0, shape = [2000]> ()
  u = RandomUniformLike <dtype = 11> (x)
  n = RandomNormal <shape = [40, 50]> ()
  v = Add(x, n)
}"""


def outputs(seed: int) -> dict[str, Array]:
    program = tw.compile(parser.parse_model(MODEL), target="generic", random_seed=seed)
    assert any(f"are those of seed {seed}, the same in every call" in note for note in program.graph.notes)
    return dict(program.run({"x": np.zeros((40, 50), np.float32)}).outputs)


@pytest.mark.in_turns(3)
def test_numbers_of_a_seed() -> None:
    found, again, other = outputs(1), outputs(1), outputs(2)
    for name, (low, high, mean, spread) in {
        "y": (-9, 15, 3, 2), "z": (-1, 5, 2, 6 / 12**0.5), "u": (0, 1, 0.5, 12**-0.5), "v": (-6, 6, 0, 1),
    }.items():  # fmt: skip
        numbers = np.asarray(found[name], np.float64)
        assert low <= numbers.min() <= numbers.max() <= high
        np.testing.assert_allclose([numbers.mean(), numbers.std()], [mean, spread], atol=0.15)
        np.testing.assert_array_equal(found[name], again[name])
        assert np.mean(found[name] == other[name]) < 0.01
    assert np.abs(np.corrcoef(found["y"].ravel(), found["v"].ravel())[0, 1]) < 0.1


def test_without_a_seed_they_are_refused() -> None:
    with pytest.raises(tw.CompileError, match=r"draws random numbers") as found:
        tw.compile(parser.parse_model(MODEL))
    assert "--random-seed N" in str(found.value)


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(tw.CompileError, match=r"--random-seed -1: is below 0"):
        tw.compile(parser.parse_model(MODEL), random_seed=-1)
