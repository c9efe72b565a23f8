"""Sums of bytes by tables: the same integers as everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.requant import full_range
from tilewright.ops._scaling import Scaling
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.snitch.byte_sums import KERNELS, unsupported_reason

SNITCH = targets.find("snitch")
(ADD,) = KERNELS
RNG = np.random.default_rng(5)
FIRST = Scaling(19000, -70000, full_range(15, "int8", 0, "half_even"))
SECOND = Scaling(-700, 900, replace(full_range(9, "int8"), low=-100, high=90))
OUT = Scaling(40000, 123456, full_range(16, "uint8", 100))


def case(op: RequantizedAdd, shape: tuple[int, ...], *dtypes: str) -> Case:
    limits = [np.iinfo(dtype) for dtype in dtypes]
    arrays = [RNG.integers(one.min, one.max + 1, shape).astype(one.dtype) for one in limits]
    made = Case(ADD, op, arrays)
    assert unsupported_reason(made.op, made.types) is None
    return made


@pytest.mark.in_turns(3)
def test_results_are_exact() -> None:
    """Many pairs of bytes, both signs, elements that four do not divide."""
    every = np.arange(256, dtype=np.uint8)
    pairs = [np.ascontiguousarray(x) for x in np.broadcast_arrays(every[:, None].view(np.int8), every)]
    op = RequantizedAdd(FIRST, SECOND, OUT)
    other = RequantizedAdd(SECOND, FIRST, replace(OUT, requant=full_range(17, "int8", -3, "half_even")))
    cases = [Case(ADD, op, [pairs[0][:64], pairs[1][:64]]), case(other, (3, 25, 7), "int8", "int8")]
    unchanged = case(RequantizedAdd(second=SECOND, out=OUT), (9, 64), "uint8", "int8")
    check([*cases, case(op, (515,), "uint8", "int8"), unchanged], SNITCH)


@pytest.mark.fast
def test_what_it_does_not_take() -> None:
    row, rows = np.zeros((1, 4), np.int8), np.zeros((3, 4), np.int8)
    broadcast = Case(ADD, RequantizedAdd(FIRST, SECOND, OUT), [rows, row])
    assert unsupported_reason(broadcast.op, broadcast.types) == "an operand is broadcast"
    few = Case(ADD, RequantizedAdd(FIRST, SECOND, OUT), [rows, rows])
    assert unsupported_reason(few.op, few.types) == "it has less than 512 elements"
    wide = Case(ADD, RequantizedAdd(replace(FIRST, requant=full_range(2, "int32")), SECOND, OUT), [rows, rows])
    assert unsupported_reason(wide.op, wide.types) == "a summand has more than a byte"
