"""ITA's kernels give what its operators say, in about the cycles that they are planned with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.sim.ita.layers import random_activation, random_bias, random_bytes, random_scale
from tests.targets.ita.kernel_runs import INCLUDES, call
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType, type_of
from tilewright.targets.ita.arithmetic import FIRST_SOFTMAX, SOFTMAX
from tilewright.targets.ita.attention import ItaAttend, ItaHead, ItaSoftmax
from tilewright.targets.ita.kernels import CORE_KERNELS, KERNELS
from tilewright.targets.ita.layout import packed_bias
from tilewright.targets.ita.linear import ItaFeedForward, ItaLinear
from tilewright.targets.ita.sums import ItaSum
from tilewright.targets.ita.tiling import ItaRows, ItaTiles
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler

RNG = np.random.default_rng(8)
KERNEL = {kernel.op: kernel for kernel in (*KERNELS, *CORE_KERNELS)}
NEAR = 0.08


def tiles(*shape: int) -> np.ndarray:
    return random_bytes(RNG, *shape, 64, 64)


def bias(columns: int) -> np.ndarray:
    return packed_bias(random_bias(RNG, 64 * columns)).reshape(columns, 192)


def check(op: Op, arrays: list[np.ndarray], bits: int = 0) -> int:
    y, cycles = call(KERNEL[type(op)], op, arrays, bits, "ita_bench" if bits else "snitch")
    assert np.array_equal(y, op.numpy(*arrays))
    return cycles


def planned(op: Op, arrays: list[np.ndarray]) -> float:
    types = {name: type_of(array) for name, array in zip(op.operand_names(len(arrays)), arrays, strict=True)}
    (types[op.results[0]],) = op.infer(types)
    shapes = {name: kind.shape for name, kind in types.items() if name != op.results[0]}
    estimate = KERNEL[type(op)].cycles
    assert estimate is not None
    found = estimate(op, types, op.extents(shapes), 1)
    return found.submitting + found.engine


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("batch", "r", "k", "c", "turned"), [((), 1, 1, 1, False), ((2,), 2, 3, 2, False), ((), 1, 4, 3, True)]
)
def test_linear(batch: tuple[int, ...], r: int, k: int, c: int, turned: bool) -> None:
    op = ItaLinear(random_scale(RNG, 64 * k), random_activation(RNG), turned)
    arrays = [tiles(*batch, r, k), tiles(c, k), bias(c)]
    assert check(op, arrays) == pytest.approx(planned(op, arrays), rel=NEAR)


def test_sums() -> None:
    op = ItaSum(random_scale(RNG, 2))
    arrays = [tiles(2, 1, 2), tiles(2, 1, 2), tiles(2), bias(1)]
    assert check(op, arrays) == pytest.approx(planned(op, arrays), rel=NEAR)


def test_feed_forward() -> None:
    op = ItaFeedForward(random_scale(RNG, 128), random_activation(RNG), random_scale(RNG, 256))
    arrays = [tiles(1, 2), tiles(3, 2), bias(3), tiles(2, 3), bias(2)]
    assert check(op, arrays) == pytest.approx(planned(op, arrays), rel=NEAR)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("queries", "keys", "heads", "width"), [(2, 2, 1, 1), (1, 2, 2, 1), (1, 1, 2, 2)])
def test_attention(queries: int, keys: int, heads: int, width: int) -> None:
    """With fewer rows of queries than of keys too, and heads side by side."""
    op = ItaAttend(random_scale(RNG, 64), random_scale(RNG, 128), SOFTMAX, width)
    across = heads * width
    arrays = [tiles(queries, across), tiles(keys, across), tiles(across, keys)]
    assert check(op, arrays) == pytest.approx(planned(op, arrays), rel=NEAR)


@pytest.mark.parametrize("softmax", [SOFTMAX, FIRST_SOFTMAX])
def test_the_softmax_alone(softmax) -> None:  # type: ignore[no-untyped-def]
    """By cores."""
    check(ItaSoftmax(softmax), [random_bytes(RNG, 5, 40)])


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("softmax", [SOFTMAX, FIRST_SOFTMAX])
def test_a_head(softmax) -> None:  # type: ignore[no-untyped-def]
    op = ItaHead(tuple(random_scale(RNG, 64) for _ in range(6)), softmax)
    arrays = [*(tiles(2, 1) for _ in range(2)), *(tiles(1, 1) for _ in range(4)), *(bias(1) for _ in range(4))]
    assert check(op, arrays, softmax.bits) == pytest.approx(planned(op, arrays), rel=2 * NEAR)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("shape", [(64, 64), (3, 100, 70), (2, 65, 128), (5, 3)])
def test_into_tiles_and_out(shape: tuple[int, ...]) -> None:
    for flips in (False, True):
        x = random_bytes(RNG, *shape).view(np.uint8 if flips else np.int8)
        check(ItaTiles(flips), [x])
        check(ItaRows(*shape[-2:], flips), [ItaTiles(flips).numpy(x)])


def test_every_file_compiles_alone(tmp_path: Path) -> None:
    flags = ["-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a", *STRICT, "-Wno-missing-prototypes", "-O2"]
    flags += [f"-I{folder}" for folder in INCLUDES]
    sources = sorted(INCLUDES[0].glob("ita_*.c"))
    assert {path.name for path in sources} == {kernel.source for kernel in (*KERNELS, *CORE_KERNELS)}
    compile_objects(dict.fromkeys(sources, flags), tmp_path, find_compiler())


def test_bytes_with_and_without_a_sign_are_taken() -> None:
    for dtype in ("int8", "uint8"):
        types = {"X": TensorType(dtype, (4, 4)), "Y": TensorType("int8", (1, 1, 64, 64))}
        assert KERNEL[ItaTiles].takes(ItaTiles(dtype == "uint8"), types)


@pytest.mark.fast
def test_what_registers_do_not_hold() -> None:
    types = {"X": TensorType("int8", (1, 16, 64, 64)), "W": TensorType("int8", (1, 16, 64, 64))}
    assert (
        KERNEL[ItaLinear].unsupported_reason(ItaLinear(), types)
        == "16 tiles of an axis do not fit ITA's registers, 15 do"
    )
