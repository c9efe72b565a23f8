"""ITA and ITAPool against the reference model, where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ita.layers import random_case, run_case
from tests.sim.ita.reference import CASES, load_reference, reference_folder, reference_results, stored_cases
from tests.sim.ita.test_ita import LAYERS
from tilewright.targets.ita.arithmetic import POOL_SOFTMAX, Softmax

# One skip for all of them.
if not (reference_folder() / CASES).is_file():
    pytest.skip("no reference model here", allow_module_level=True)


def test_random_layers_of_the_reference() -> None:
    model = load_reference(reference_folder())
    for seed in range(LAYERS):
        case = random_case(seed)
        wanted = reference_results(model, case)
        assert all(np.array_equal(value, wanted[name]) for name, value in case.results.items())


def test_stored_cases_of_the_reference() -> None:
    names = []
    for name, case, stored in stored_cases(reference_folder()):
        assert all(np.array_equal(value, stored[result]) for result, value in case.results.items()), name
        assert run_case(case, checked=True).wrong == 0, name
        names.append(name)
    assert len(names) == 7


@pytest.mark.fast
def test_softmaxes_of_the_reference() -> None:
    stored = np.load(reference_folder() / CASES)
    model = load_reference(reference_folder())
    for name, softmax in (("sh0", Softmax(0)), ("sh5", Softmax(5)), ("itapool", POOL_SOFTMAX)):
        assert np.array_equal(softmax(stored["softmax.x"]), stored[f"softmax.{name}"])
    rows = np.random.default_rng(1).integers(-128, 128, (400, 256)).astype(np.int8)
    assert np.array_equal(POOL_SOFTMAX(rows), model.softmax_itapool(rows))
