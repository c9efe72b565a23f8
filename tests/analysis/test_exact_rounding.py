"""A note where a network's rounding to the bit costs cycles that the target's own would not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.hwpe.neureka_layers import layer
from tilewright.analysis.costs import analysis_of
from tilewright.analysis.exact_rounding import keeps_roundings, with_rounding_note
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.ir.tflite_rounding import factors
from tilewright.ops.matmul import MatMul
from tilewright.pipeline import prediction
from tilewright.target.settings import Settings

DEFAULT = Settings()


def product(rounding: str) -> Graph:
    random = np.random.default_rng(0)
    x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((400, 64), (64, 64)))
    if rounding == "half_even":
        mul, add = np.full(64, 12345 << 14, np.int32), None
    else:
        mul, add = factors(2.0 ** random.uniform(-10, -9, 64), rounding)
    shift = 40 if rounding == "half_even" else 0
    return layer(MatMul(trans_b=True, requant=full_range(shift, "int8", 3, rounding)), x, w, None, mul, add).graph


@pytest.mark.fast
def test_where_there_is_something_to_say() -> None:
    assert keeps_roundings("siracusa", product("double"), DEFAULT)
    assert not keeps_roundings("generic", product("double"), DEFAULT)
    assert not keeps_roundings("siracusa", product("half_even"), DEFAULT)
    for numerics in ("exact", "hardware"):
        assert not keeps_roundings("siracusa", product("double"), replace(DEFAULT, numerics=numerics))


@pytest.mark.in_turns(3)
def test_the_note_has_what_the_hardware_would_take() -> None:
    graph = product("double")
    exact = analysis_of(prediction(graph, "siracusa"))
    hardware = analysis_of(prediction(graph, "siracusa", replace(DEFAULT, numerics="hardware")))
    (*others, note) = with_rounding_note(exact, graph, DEFAULT).notes
    assert tuple(others) == exact.notes
    assert f"takes {exact.predicted_cycles:,} cycles" in note
    assert f"--numerics hardware {hardware.predicted_cycles:,}: results of 1 of 1 layers may differ by one step" in note
