"""Functions, softmaxes, norms and products of floats on the Snitch cluster, with streams and repetition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.snitch.machine import SNITCH, floats, kernel
from tilewright.ir.op import Op
from tilewright.ops.exp import Exp
from tilewright.ops.gelu import Gelu
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.relu import Relu
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.run import kernel_bench
from tilewright.run.kernel_bench import Case, CasePlaces, check
from tilewright.target.target import Target

FUNCTIONS = {
    "exp_blocks.c": Exp(), "sigmoid_blocks.c": Sigmoid(), "swish_blocks.c": Swish(alpha=1.5), "tanh_blocks.c": Tanh(),
    "hardsigmoid_blocks.c": HardSigmoid(alpha=0.3, beta=0.4), "hardswish_blocks.c": HardSwish(),
    "relu_blocks.c": Relu(),
    "gelu_blocks.c": Gelu(), "gelu_tanh_blocks.c": Gelu(approximate="tanh"),
}  # fmt: skip
EXACT = 1e-6


@pytest.mark.in_turns(5)
def test_functions() -> None:
    """Whole blocks and a rest; far from 0, where they have come to their ends, and so near that little is left."""
    cases = [
        Case(kernel(source), op, [x])
        for source, op in FUNCTIONS.items()
        for x in (floats(150), np.clip(40 * floats(33), -80, 80), 1e-3 * floats(20))
    ]
    check(cases, SNITCH, tolerance=EXACT)


def test_powers_have_their_ends() -> None:
    found = kernel_bench.measure(
        [Case(kernel("exp_blocks.c"), Exp(), [np.array([-200, 0, 88.5, 100], np.float32)])], SNITCH
    )
    zero, one, large, infinite = found[0].results[0]
    assert (zero, one, infinite) == (0.0, 1.0, np.inf)
    assert large == pytest.approx(np.exp(88.5), rel=1e-5)


@pytest.mark.in_turns(3)
def test_rows() -> None:
    """Softmaxes of any length along any axis; norms with and without a bias, with rests that are no four pairs."""
    softmax, norm, rms = (kernel(f"{name}.c") for name in ("softmax_blocks", "layer_norm_streams", "rms_norm_streams"))
    shapes = [((9, 48), -1), ((3, 17), -1), ((4, 5, 3), 1), ((8, 1), -1), ((1, 70), -1)]
    cases = [Case(softmax, Softmax(axis=axis), [5 * floats(*shape)]) for shape, axis in shapes]
    cases.append(Case(softmax, Softmax(axis=-1), [np.array([[-np.inf, 1, -1e9, 2], [1e4, 1e4, 0, -1e4]], np.float32)]))
    cases += [Case(norm, LayerNormalization(), [2 + floats(9, n), floats(n), floats(n)]) for n in (32, 22, 6)]
    cases.append(Case(norm, LayerNormalization(), [floats(3, 18), floats(18)]))
    narrow = np.concatenate([300 + 0.001 * floats(2, 24), floats(9, 24)]).astype(np.float32)
    cases.append(Case(norm, LayerNormalization(-1, 1e-9), [narrow, floats(24), floats(24)]))
    cases += [Case(rms, RMSNormalization(), [floats(rows, n), floats(n)]) for rows, n in ((9, 64), (1, 22), (2, 4))]
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, SNITCH, tolerance=EXACT)


@pytest.mark.in_turns(3)
def test_sums_over_axes() -> None:
    """Of neighbours side by side, and of runs; of several loops, and of one position."""
    shapes = [
        ((9, 64), (1,)),
        ((9, 22), (0,)),
        ((4, 6, 3, 10), (1, 3)),
        ((4, 6, 8, 10), (0, 2)),
        ((5, 2), (0,)),
        ((1, 12), (0,)),
    ]
    cases = [Case(kernel("reducemean_streams.c"), ReduceMean(axes), [floats(*shape)]) for shape, axes in shapes]
    cases.append(Case(kernel("reducesum_streams.c"), ReduceSum((1, 2, 3)), [floats(3, 4, 2, 6)]))
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, SNITCH)


@pytest.mark.fast
def test_norms_of_odd_rows_are_left_to_others() -> None:
    case = Case(kernel("rms_norm_streams.c"), RMSNormalization(), [floats(4, 7), floats(7)])
    assert (
        case.kernel.unsupported_reason(case.op, case.types)
        == "rows of 7, which do not all begin at multiples of 8 bytes"
    )


@pytest.mark.in_turns(5)
def test_products_any_way_they_lie() -> None:
    """Turned, scaled, of an odd number of columns; many small ones, which cores take one by one."""
    turned = kernel("matmul_strided_f32.c")
    cases = [
        Case(turned, MatMul(trans_b=True), [floats(17, 70), floats(16, 70)]),
        Case(turned, MatMul(trans_a=True, alpha=0.5, beta=2.0), [floats(20, 12), floats(20, 15), floats(15)]),
        Case(turned, MatMul(activation=Relu(), alpha=0.5), [floats(5, 6), floats(6, 4)]),
        Case(turned, MatMul(activation=Relu()), [floats(3, 5, 66), floats(3, 66, 17), floats(17)]),
        Case(turned, MatMul(activation=Relu()), [floats(9, 10), floats(10, 8), floats(8)]),
        Case(turned, MatMul(), [floats(5, 2), floats(2, 12)]),
        Case(turned, MatMul(trans_b=True), [floats(9, 3, 8), floats(9, 7, 8)]),
    ]
    check(cases, SNITCH)
    check(cases[-1:], SNITCH, 3)


def test_tensors_that_begin_between_two_multiples_of_8(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = kernel_bench._layout

    def moved(case: Case, target: Target) -> CasePlaces:
        found = usual(case, target)
        places = {name: place + 4 * (name not in ("scratch", "params")) for name, place in found.places.items()}
        return CasePlaces(places, found.start, found.end)

    monkeypatch.setattr(kernel_bench, "_layout", moved)
    rows: list[tuple[str, Op, int]] = [
        ("softmax_blocks.c", Softmax(axis=-1), 0),
        ("layer_norm_streams.c", LayerNormalization(), 2),
        ("rms_norm_streams.c", RMSNormalization(), 1),
        ("tanh_blocks.c", Tanh(), 0),
        ("reducesum_streams.c", ReduceSum((0,)), 0),
    ]
    cases = [Case(kernel(source), op, [floats(3, 10), *(floats(10) for _ in range(more))]) for source, op, more in rows]
    check(cases, SNITCH, tolerance=EXACT)
