"""The functions of device/math.h against those of numpy in double."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.ir.types import Array
from tilewright.target.processors import NATIVE, processor_flags
from tilewright.targets.gpu.target import TARGET
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-38, 1e-45], np.float32)
RANDOM = np.random.default_rng(4)
NEAR = np.concatenate([SPECIAL, RANDOM.uniform(-6, 6, 3000).astype(np.float32)])
WIDE = np.concatenate([NEAR, (RANDOM.standard_normal(3000) * 10.0 ** RANDOM.uniform(-30, 38, 3000)).astype(np.float32)])

erf: Callable[[Array], Array] = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "expf": np.exp, "expm1f": np.expm1, "logf": np.log, "log1pf": np.log1p, "sinf": np.sin, "cosf": np.cos,
    "tanf": np.tan, "asinf": np.arcsin, "acosf": np.arccos, "atanf": np.arctan, "sinhf": np.sinh, "coshf": np.cosh,
    "tanhf": np.tanh, "asinhf": np.arcsinh, "acoshf": np.arccosh, "atanhf": np.arctanh, "erff": erf, "sqrtf": np.sqrt,
    "floorf": np.floor, "ceilf": np.ceil, "rintf": np.rint,
    "roundf": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place, compiler = tmp_path_factory.mktemp("math"), find_compiler()
    # What the compiler has as an instruction on a GPU is not to become a call of the function that it is in.
    native = [*processor_flags(NATIVE, compiler.is_zig), "-fno-builtin", "-fno-math-errno"]
    flags = ["-O1", "-fPIC", "-w", *native, "-I", str(TARGET.folder / "device")]
    flags += ["-I", str(TARGET.folder / "kernels")]
    (made,) = compile_objects({Path(__file__).parent / "math_check.c": flags}, place, compiler)
    link_without_runtime([made], ["m"], place / "math.so", compiler, ["-O1", "-shared"])
    return ctypes.CDLL(str(place / "math.so"))


def called(library: Any, name: str, *operands: Array) -> Array:
    y = np.empty_like(operands[0])
    getattr(library, f"check_{name}")(len(y), *(one.ctypes.data_as(ctypes.c_void_p) for one in (*operands, y)))
    return y


def within_a_unit(found: Array, exact: Array) -> None:
    """Of the last place; what is not a number or infinite is so too."""
    with np.errstate(over="ignore"):
        wanted = exact.astype(np.float32)
    both = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~both], wanted[~both])
    unit = np.spacing(np.maximum(np.abs(wanted[both]), np.float32(2.0**-126))).astype(np.float64)
    assert (np.abs(found[both].astype(np.float64) - exact[both]) / unit).max() <= 1.0


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(library: Any, name: str) -> None:
    with np.errstate(all="ignore"):
        within_a_unit(called(library, name, WIDE), FUNCTIONS[name](WIDE.astype(np.float64)))


def test_powers_and_rests(library: Any) -> None:
    one, other = np.repeat(NEAR, 3), np.concatenate([np.roll(NEAR, shift) for shift in (1, 5, 700)])
    with np.errstate(all="ignore"):
        within_a_unit(called(library, "powf", one, other), np.power(one.astype(np.float64), other.astype(np.float64)))
        within_a_unit(called(library, "fmodf", one, other), np.fmod(one.astype(np.float64), other.astype(np.float64)))


def test_parts_of_floats(library: Any) -> None:
    """Two floats of 11 bits; the largest floats are no infinite ones, and what is no number stays so."""
    largest = np.finfo(np.float32).max
    no_numbers = np.array([0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
    x = np.concatenate([WIDE, [largest, -largest, largest * np.float32(1 - 2.0**-12)], no_numbers]).astype(np.float32)
    small = np.empty_like(x)
    large = np.empty_like(x)
    library.check_parts(len(x), *(one.ctypes.data_as(ctypes.c_void_p) for one in (x, large, small)))
    assert not (large.view(np.uint32) & 0x1FFF).any()
    np.testing.assert_array_equal(np.isfinite(large), np.isfinite(x))
    np.testing.assert_array_equal(np.isnan(large), np.isnan(x))
    normal = np.isfinite(x) & (np.abs(x) > 1e-30)
    read = (small.view(np.uint32) & 0xFFFFE000).view(np.float32)
    exact = x[normal].astype(np.float64)
    assert (np.abs(large[normal].astype(np.float64) + read[normal] - exact) <= np.abs(exact) * 2.0**-21).all()
