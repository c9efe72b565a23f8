"""Every operator with index maps, on random shapes, attributes and tilings: tiled equals whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from tests.support import (
    attention_cases,
    block_cases,
    classifiers,
    dialect_cases,
    elementwise,
    linear_cases,
    movement,
    quantised,
    recurrent,
    reductions,
)
from tests.support.checks import Case, check_tiled
from tests.support.examples import examples
from tilewright import ops, targets
from tilewright.ir.op import Op

pytestmark = pytest.mark.fast

INDEXED = [operator for operator in ops.all_operators() if operator.index is not Op.index]
SHORTHAND = [operator for operator in ops.all_operators() if operator.index is Op.index]


def seeded(make: Callable[[Generator], Case]) -> st.SearchStrategy[Case]:
    return st.integers(0, 2**32).map(lambda seed: make(np.random.default_rng(seed)))


MAKERS = {
    **movement.MAKERS, **reductions.MAKERS, **quantised.MAKERS, **dialect_cases.MAKERS, **recurrent.MAKERS,
    **attention_cases.MAKERS, **classifiers.MAKERS, **block_cases.MAKERS,
}  # fmt: skip

CASES: dict[str, st.SearchStrategy[Case]] = {
    **{kind: elementwise.cases(kind) for kind in elementwise.kinds()},
    **{kind: seeded(make) for kind, make in MAKERS.items()},
    **linear_cases.CASES,
}


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("operator", INDEXED, ids=lambda operator: operator.__name__)
@examples(10)
@given(data=st.data())
def test_tiled_equals_whole(operator: type[Op], data: st.DataObject) -> None:
    op, arrays = data.draw(CASES[operator.__name__])
    assert type(op) is operator
    shapes = {name: array.shape for name, array in op.bind(list(arrays)).items()}
    tile = {loop: data.draw(st.integers(1, extent + 1), loop) for loop, extent in op.extents(shapes).items()}
    check_tiled(op, arrays, tile)


def test_operators_with_index_maps_have_kernels() -> None:
    kernels = {kernel.op for engine in targets.find("generic").engines for kernel in engine.kernels}
    views = {operator for operator in INDEXED if operator.view is True}
    assert kernels == set(INDEXED) - views


@pytest.mark.parametrize("operator", SHORTHAND, ids=lambda operator: operator.__name__)
def test_operators_without_index_maps_stand_for_others(operator: type[Op]) -> None:
    assert "expand" in vars(operator) or "from_onnx" in vars(operator)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("operator", ops.all_operators(), ids=lambda operator: operator.__name__)
def test_operators_say_what_they_are(operator: type[Op]) -> None:
    assert "__doc__" in vars(operator)
    assert not str(operator.__doc__).startswith(f"{operator.__name__}("), "that is what dataclasses make up"
    assert ops.find(operator.__name__) is operator
