"""Kernels that use declared instructions on the simulated core: equal to numpy to the bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from numpy.random import default_rng

from tests.instruction.folders import DOT4, REQUANT, with_own
from tests.targets.rv32.machine import kernels, run_on_board
from tests.targets.rv32.test_kernels import conv, product
from tilewright.instruction.attach import with_instructions
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.target.peak import Peak
from tilewright.targets.rv32.target import TARGET as RV32

pytestmark = pytest.mark.in_turns(2)

KINDS = ("double", "half_up", "none")
"""Signed bytes with TensorFlow Lite's requantisation, unsigned ones, totals."""


def test_convolutions() -> None:
    random = default_rng(1)
    compiled, _ = run_on_board([conv(random, kind) for kind in KINDS * 12], with_own(DOT4))
    assert set(kernels(compiled)) == {"conv_dots"}


def test_depthwise_convolutions() -> None:
    """Windows of 3 x 3 without dilation are its own."""
    random, cases = default_rng(7), []
    for kind in KINDS * 12:
        op, arrays = conv(random, kind, depthwise=True)
        assert isinstance(op, Conv)
        assert arrays[1] is not None
        cases.append((replace(op, dilations=(1, 1)), [arrays[0], arrays[1], *arrays[2:]]))
    compiled, _ = run_on_board(cases, with_own(DOT4))
    found = Counter(kernels(compiled))
    assert found["depthwise_dots"] > 4
    assert found.keys() == {"depthwise_dots", "depthwise_rows"}


def test_products() -> None:
    random = default_rng(3)
    compiled, _ = run_on_board([product(random, kind) for kind in KINDS * 4], with_own(DOT4))
    assert set(kernels(compiled)) == {"matmul_dots"}


def test_bounds_know_of_them() -> None:
    """Long sums take fewer cycles than a core without the instruction could at best."""
    types = {name: TensorType(dtype, (1,)) for name, dtype in (("X", "int8"), ("W", "int32"), ("Y", "int8"))}
    for target, rate in ((RV32, 2), (with_instructions(RV32, [DOT4]), 4)):
        (peak,) = (engine.peak for engine in target.engines)
        assert isinstance(peak, Peak)
        assert peak.macs(Conv(), types, 1) == rate


def test_requantisations() -> None:
    """Alone, and with the other one; TensorFlow Lite's of signed bytes are its own."""
    for places in ((REQUANT,), (DOT4, REQUANT)):
        random = default_rng(5)
        cases = [conv(random, "double", depthwise=bool(number % 2)) for number in range(8)]
        plain, _ = run_on_board(cases)
        compiled, _ = run_on_board(cases, with_own(*places))
        assert len(kernels(compiled)) == len(kernels(plain))
