"""The C kernels of reductions, softmax and normalisations compute what their operators mean."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tests.support.movement import values
from tests.support.reductions import MAKERS, REDUCTIONS
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.reducelogsumexp import ReduceLogSumExp
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.softmax import Softmax

REDUCING = tuple(kind.__name__ for kind in REDUCTIONS)
ALONG_AXES = tuple(kind for kind in MAKERS if kind not in REDUCING)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("kinds", [REDUCING, ALONG_AXES], ids=["reductions", "along axes"])
def test_kernels_equal_numpy(kinds: tuple[str, ...]) -> None:
    random = np.random.default_rng(9)
    check_kernels([MAKERS[kind](random) for kind in kinds for _ in range(16)])


def test_long_rows_and_many_columns() -> None:
    """Longer than the chains and blocks in which the kernels walk, with rests."""
    random = np.random.default_rng(10)
    x, integers = values(random, (3, 70, 131), "float32"), values(random, (3, 70, 131), "int8")
    cases: list[Case] = []
    for axes in ((2,), (1,), (0, 2), (0, 1), (1, 2)):
        cases += [(ReduceSum(axes, wide=True), [integers]), (ReduceMean(axes), [x]), (ReduceMax(axes), [x])]
        cases += [(ReduceMean(axes, False, integer=True), [integers]), (ReduceLogSumExp(axes), [x])]
    for axis in (0, 1, 2):
        cases += [(Softmax(axis), [x]), (LogSoftmax(axis), [x]), (ArgMax(axis), [integers])]
    cases.append((LayerNormalization(-1), [x, x[0, 0], x[1, 1]]))
    cases.append((GroupNormalization(7), [x, x[0, :, 0], x[1, :, 0]]))
    check_kernels(cases)


def test_rows_far_from_zero_with_a_small_spread() -> None:
    """The mean rounded to a float is off by a hundredth of the spread; constant rows have none at all."""
    random = np.random.default_rng(11)
    x = (300 + 0.001 * random.standard_normal((2, 6, 8, 9))).astype(np.float32)
    x[1, 0] = 77.7
    scale, bias = np.linspace(-1, 2, 6, dtype=np.float32), np.linspace(0, 1, 6, dtype=np.float32)
    rows = x.reshape(12, 72)
    cases: list[Case] = [(GroupNormalization(groups, 1e-9), [x, scale, bias]) for groups in (1, 2, 6)]
    cases += [(LayerNormalization(1, 1e-9), [rows, np.linspace(-1, 2, 72, dtype=np.float32), rows[0] - 300])]
    check_kernels(cases)


def test_values_that_are_not_finite() -> None:
    x = np.array([[1, np.nan, 3], [-np.inf, -np.inf, -np.inf], [np.inf, 2, -np.inf]], np.float32)
    axes = [(0,), (1,)]
    check_kernels([(kind(a), [x]) for kind in (ReduceMax, ReduceMin, ReduceLogSumExp) for a in axes])
    twice = np.array([[1, np.nan, 3, np.nan, 2], [5, 5, np.nan, 1, 0]], np.float32)
    check_kernels([(kind(1, True, last), [twice]) for kind in (ArgMax, ArgMin) for last in (False, True)])


def test_dialect_means_round_like_the_dialect() -> None:
    """Every sum around zero, over counts that are powers of two and counts that are not."""
    cases: list[Case] = []
    for count in (1, 2, 4, 5, 6):
        rows = np.zeros((41, count), np.int8)
        rows[:, 0] = np.arange(-20, 21)
        cases += [(ReduceMean((1,), keepdims, integer=True), [rows]) for keepdims in (False, True)]
    check_kernels(cases)
