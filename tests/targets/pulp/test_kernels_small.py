"""The cluster's kernels of small matrix products on the virtual SoC, against MatMul's numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import KERNELS, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case, check
from tilewright.target.kernel import Kernel
from tilewright.targets.pulp.small_products import row_params


def kernel(source: str) -> Kernel:
    return next(kernel for kernel in KERNELS if kernel.source == source)


def requant(draw: Draw, inner: int) -> tuple[Requant, list[Array | None]]:
    """Factors that make use of the result's range and, now and then, such that need 64 bits."""
    dtype, shift = draw.byte(), draw.size(20)
    usual = max(1, round(2**shift * 400.0 / (6000.0 * inner**0.5)))
    mul = draw.one_of(usual, usual, usual, usual * 300, -usual, 0, 2**31 - 1, -(2**31))
    add = draw.one_of(None, 0, 77, -(2 ** (shift + 3)), 2**28, -(2**28), 2**31 - 1)
    zero_point = draw.zero(dtype)
    summand = None if add is None else np.array([add], np.int32)
    return full_range(shift, dtype, zero_point), [np.array([mul], np.int32), summand]


SIZES = {
    "matvec_strips.c": lambda draw: (1, 4 * draw.size(17), 3 + draw.size(30)),
    "gemv_b_rowmajor.c": lambda draw: (draw.size(3), 3 + draw.size(30), 3 + draw.size(14)),
    "gemm_b_rowmajor.c": lambda draw: (15 + draw.size(20), 3 + draw.size(30), 3 + draw.size(13)),
    "gemm_uniform_requant.c": lambda draw: (3 + draw.size(20), 4 + 4 * draw.size(16), 4 * draw.size(8)),
    "gemv_k4.c": lambda draw: (draw.size(3), 4, 3 + draw.size(30)),
    "gemm_k4.c": lambda draw: (3 + draw.size(20), 4, 3 + draw.size(14)),
}
"""Rows, length of the sum and columns that a kernel takes."""


def by_columns(source: str) -> bool:
    return source in ("matvec_strips.c", "gemm_uniform_requant.c", "gemv_k4.c")


def product(seed: int, source: str) -> Case:
    draw = Draw(seed)
    rows, inner, columns = SIZES[source](draw)
    batch = [draw.size(17)] if draw.flag() or source == "gemv_k4.c" else []
    trans_b = by_columns(source) or (source == "gemm_k4.c" and draw.flag())
    a = draw.array(draw.byte(), *batch, rows, inner)
    b = draw.array(draw.byte(), *batch, *((columns, inner) if trans_b else (inner, columns)))
    bias = draw.between(-(2**20), 2**20, *draw.one_of((columns,), (*batch, 1, columns))) if draw.flag() else None  # type: ignore[misc]
    kind, factors = requant(draw, inner)
    perm_y = (1, 0, 2) if batch and draw.flag() else ()
    op = MatMul(trans_b=trans_b, requant=kind, perm_y=perm_y)
    return Case(kernel(source), op, [a, b, bias, *factors], skew=draw.size(4) - 1)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_small_products(cores: int) -> None:
    """All in one program: starting compilers and machines takes as long as all of them do."""
    found = list[Case]()
    for source in SIZES:
        cases = [product(seed, source) for seed in range(80)]
        taken = [case for case in cases if case.kernel.unsupported_reason(case.op, case.types) is None]
        assert len(taken) >= 25
        found += taken
    check(share(found, cores), SIRACUSA, cores)


@pytest.mark.in_turns(10)
def test_extremes_do_not_overflow() -> None:
    check([case for source in SIZES for case in extremes(source)], SIRACUSA, 8)


def extremes(source: str) -> list[Case]:
    """All operands as large as they go, with every sign and factors on both sides of what is safe."""
    cases = []
    for seed in range(24):
        draw = Draw(seed)
        rows, inner, columns = SIZES[source](draw)
        kinds = [("int8", -128), ("int8", 127), ("uint8", 255)]
        (a_type, a_value), (b_type, b_value) = (kinds[int(draw.random.integers(3))] for _ in range(2))
        a = np.full((8, rows, inner), a_value, a_type)
        b = np.full((8, columns, inner) if by_columns(source) else (8, inner, columns), b_value, b_type)
        mul = np.array([2 ** draw.size(28) - draw.size(2) + 1], np.int32)
        add = np.array([draw.one_of(2**28 - 1, 1 - 2**28)], np.int32)
        op = MatMul(trans_b=by_columns(source), requant=full_range(20, draw.byte()))
        cases.append(Case(kernel(source), op, [a, b, None, mul, add]))
    return cases


def test_unsupported_reasons() -> None:
    def refused(source: str, op: MatMul, *shapes: tuple[int, ...]) -> str | None:
        arrays: list[Array | None] = [np.zeros(shape, np.int8) for shape in shapes]
        case = Case(kernel(source), op, [*arrays, None, np.array([1], np.int32)])
        return case.kernel.unsupported_reason(case.op, case.types)

    narrow = full_range(16, "int8")
    assert refused("matvec_strips.c", MatMul(trans_b=True, requant=narrow), (1, 64), (64, 64)) is None
    assert refused("matvec_strips.c", MatMul(requant=narrow), (1, 64), (64, 64))
    assert refused("matvec_strips.c", MatMul(trans_b=True, requant=narrow), (1, 63), (64, 63))
    assert refused("matvec_strips.c", MatMul(trans_b=True, requant=full_range(21, "int8")), (1, 64), (64, 64))
    assert refused("matvec_strips.c", MatMul(trans_b=True, requant=narrow, a_zero=3), (1, 64), (64, 64))
    assert refused("gemv_b_rowmajor.c", MatMul(requant=narrow), (16, 1, 65), (16, 65, 4)) is None
    assert refused("gemv_b_rowmajor.c", MatMul(requant=narrow), (16, 4, 65), (16, 65, 4))
    assert refused("gemm_b_rowmajor.c", MatMul(requant=narrow), (16, 64, 64), (16, 64, 4)) is None
    assert refused("gemm_b_rowmajor.c", MatMul(requant=narrow), (16, 64, 64), (16, 64, 17))
    assert refused("gemm_uniform_requant.c", MatMul(trans_b=True, requant=narrow), (16, 64), (8, 64)) is None
    assert refused("gemm_uniform_requant.c", MatMul(requant=narrow), (16, 64), (64, 8))
    assert refused("gemm_uniform_requant.c", MatMul(trans_b=True, requant=narrow), (16, 62), (8, 62))
    assert refused("gemm_uniform_requant.c", MatMul(trans_b=True, requant=narrow), (16, 64), (6, 64))
    assert refused("gemm_uniform_requant.c", MatMul(trans_b=True, requant=narrow), (3, 64), (8, 64))
    assert refused("gemm_k4.c", MatMul(requant=narrow), (16, 4), (4, 4)) is None
    assert refused("gemm_k4.c", MatMul(requant=narrow), (16, 5), (5, 4))
    assert refused("gemv_k4.c", MatMul(trans_b=True, requant=narrow), (16, 1, 4), (16, 65, 4)) is None
    assert refused("gemv_k4.c", MatMul(trans_b=True, requant=narrow), (2, 1, 4), (2, 65, 4))


def test_rows_are_parted_where_cores_would_idle() -> None:
    assert [row_params(16, strips, 8)["parts"] for strips in (1, 2, 3, 8, 64)] == [8, 4, 8, 1, 1]
    assert row_params(3, 1, 8) == {"parts": 3, "part_rows": 1}
    assert row_params(9, 1, 8) == {"parts": 5, "part_rows": 2}
    assert row_params(64, 4, 8, 4) == {"parts": 2, "part_rows": 32}
    assert row_params(18, 1, 8, 4) == {"parts": 5, "part_rows": 4}
