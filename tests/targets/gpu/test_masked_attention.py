"""Attention with a mask is one kernel: as C of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case, check_graph, check_kernels
from tests.targets.gpu.test_code import EVERY_CHIP, assembled, codes, spills
from tests.targets.gpu.test_fused import Fed, Network, kinds
from tests.targets.gpu.test_opencl import check_texts
from tests.targets.gpu.test_tiles import RANDOM, floats
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array, Shape
from tilewright.ops._masked_attention import MaskedAttention
from tilewright.ops.add import Add
from tilewright.ops.isnan import IsNaN
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.softmax import Softmax
from tilewright.ops.sub import Sub
from tilewright.ops.where import Where
from tilewright.passes import narrow_floats
from tilewright.target.settings import Settings

LOWEST = float(np.finfo(np.float32).min)
HIDING = (-np.inf, -1e9, LOWEST)
"""What exporters add to scores that are not to be seen."""
BROADCAST = ((2, 1, 1, 150), (1, 4, 35, 150), (2, 4, 35, 150), (1, 1, 35, 1), (1, 1, 1, 1))
"""Shapes of masks for scores of two sentences, four heads, 35 queries and 150 keys."""


def truths(*shape: int) -> Array:
    """Every row has one that holds, and none is all of them."""
    found = RANDOM.random(shape) < 0.4
    found[..., 0] = True
    return found


def masks(shape: Shape) -> list[tuple[MaskedAttention, Array]]:
    shown = truths(*shape)
    hidden = [np.where(shown, floats(*shape), np.float32(low)).astype(np.float32) for low in HIDING]
    return [
        *((MaskedAttention(scale=0.3), mask) for mask in hidden),
        (MaskedAttention(scale=0.3), floats(*shape)),
        (MaskedAttention(scale=0.3), shown),
        (MaskedAttention(scale=0.3, shows=False, hidden=-1e9), ~shown),
        (MaskedAttention(True, 100, 0.3), shown),
    ]


def operands(width: int = 64) -> list[Array]:
    return [floats(2, 35, 4, 64), floats(2, 150, 2, 64), floats(2, 150, 2, width)]


def cases() -> list[Case]:
    found = [case for shape in BROADCAST for case in masks(shape)]
    return [(op, [*operands(), mask]) for op, mask in found] + [
        (MaskedAttention(scale=0.1), [floats(1, 3, 2, 100), *(floats(1, 9, 2, 100) for _ in "kv"), floats(1, 2, 3, 9)])
    ]


def empty_rows() -> list[Case]:
    """Rows that are masked throughout: those of finite masks are means, the others are zeros if that is said."""
    nothing = np.zeros((2, 1, 35, 150), bool)
    nothing[:, :, ::2] = truths(2, 1, 18, 150)
    added = [np.where(nothing, np.float32(0), np.float32(low)) for low in HIDING]
    return [
        (MaskedAttention(scale=0.3, empty_is_zero=True), [*operands(), nothing]),
        (MaskedAttention(scale=0.3, empty_is_zero=True), [*operands(), added[0]]),
        *((MaskedAttention(scale=0.3), [*operands(), mask]) for mask in added[1:]),
        *((MaskedAttention(scale=0.3, hidden=low), [*operands(), nothing]) for low in HIDING[1:]),
    ]


@pytest.mark.in_turns(6)
def test_masks() -> None:
    check_kernels([*cases(), *empty_rows()], target="gpu")


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_masks_of_attention_in_16_bits(precision: str) -> None:
    """Masks stay as they are."""
    check_kernels([*cases()[::3], *empty_rows()], target="gpu", settings=Settings(precision=precision))


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_kernels_assemble_without_spills(precision: str, tmp_path: Path) -> None:
    found = codes([cases()[0], cases()[4], cases()[-1]], precision)
    named = [code for name, code in found.items() if "masked" in name]
    assert len(named) == 3
    for code in named:
        assert spills(assembled(code, tmp_path, EVERY_CHIP)) == []
        assert (".minnctapersm 2\n" in code) == (precision == "fp32")


@pytest.mark.in_turns(3)
def test_kernels_are_opencl_c(tmp_path: Path) -> None:
    check_texts([cases()[0], cases()[4]], tmp_path, ("CL1.2", "CL3.0"))


# ---- as exporters write it ------------------------------------------------------------------------------------------


def attention(masked: Callable[[Network, str], str], guarded: bool = False) -> Fed:
    """Two products, with heads first; `masked` adds what hides scores."""
    net = Network()
    queries, keys, values = (net.given(floats(2, 3, size, 16)) for size in (7, 9, 9))
    scores = net.add(MatMul(trans_b=True), queries, keys)
    scaled = net.add(Mul(), scores, net.builder.constant(np.float32(0.25)))
    shares = net.add(Softmax(-1), masked(net, scaled))
    if guarded:
        shares = net.add(Where(), net.add(IsNaN(), shares), net.builder.constant(np.float32(0)), shares)
    net.builder.output(net.add(MatMul(), shares, values))
    return net.build()


def added(net: Network, scores: str) -> str:
    """As BERT has it: (1 - mask) * -1e9 of a mask with a number for each key."""
    kept = net.given(truths(2, 1, 1, 9).astype(np.float32))
    hidden = net.add(Sub(), net.builder.constant(np.float32(1)), kept)
    return net.add(Add(), scores, net.add(Mul(), hidden, net.builder.constant(np.float32(-1e9))))


def chosen(net: Network, scores: str) -> str:
    shown = net.given(truths(2, 1, 7, 9))
    return net.add(Where(), shown, scores, net.builder.constant(np.float32(-1e9)))


def filled(net: Network, scores: str) -> str:
    return net.add(Where(), net.given(~truths(7, 9)), net.builder.constant(np.float32(-np.inf)), scores)


def biased(net: Network, scores: str) -> str:
    """Relative positions."""
    return net.add(Add(), net.builder.constant(floats(1, 3, 7, 9)), scores)


def hidden_throughout(net: Network, scores: str) -> str:
    shown = truths(2, 1, 7, 9)
    shown[1, 0, 3] = False
    low = net.add(
        Where(), net.given(shown), net.builder.constant(np.float32(0)), net.builder.constant(np.float32(-np.inf))
    )
    return net.add(Add(), scores, low)


def later(low: float) -> Callable[[Network, str], str]:
    """Keys behind a query are hidden by a number."""
    return lambda net, scores: net.add(
        Add(), scores, net.builder.constant(np.triu(np.full((7, 9), low, np.float32), 3))
    )


def left_out(low: float) -> Callable[[Network, str], str]:
    """The first keys, which are all that some queries see, of one sentence."""
    shown = np.ones((2, 1, 1, 9), bool)
    shown[1, ..., :5] = False
    return lambda net, scores: net.add(Where(), net.given(shown), scores, net.builder.constant(np.float32(low)))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("inner", "outer", "count"),
    [
        (later(-1e9), left_out(-1e9), 0),
        (left_out(-1e9), later(-1e9), 0),
        (later(-np.inf), left_out(-1e9), 0),
        (later(-np.inf), left_out(-0.5), 0),
        (left_out(-1e9), later(-np.inf), 1),
        (later(-np.inf), added, 1),
    ],
)
def test_two_masks(inner: Callable[[Network, str], str], outer: Callable[[Network, str], str], count: int) -> None:
    """One hides keys from a kernel only if none of these has a weight, even where all others are hidden too."""
    graph, feeds = attention(lambda net, scores: outer(net, inner(net, scores)))
    assert kinds(graph)["MaskedAttention"] == count
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("masked", [added, chosen, filled, biased])
def test_masks_as_written(masked: Callable[[Network, str], str]) -> None:
    graph, feeds = attention(masked)
    found = kinds(graph)
    assert (found["MaskedAttention"], found["Softmax"], found["MatMul"]) == (1, 0, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_rows_without_keys_that_are_made_zeros() -> None:
    """As PyTorch exports attention with a mask of truths."""
    graph, feeds = attention(hidden_throughout, guarded=True)
    found = kinds(graph)
    assert (found["MaskedAttention"], found["IsNaN"]) == (1, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.in_turns(3)
def test_masks_stay_floats_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a row that is masked by -1e9 throughout, which fp16 does not have."""
    monkeypatch.setattr(narrow_floats, "pays", bool)
    graph, feeds = attention(added)
    mask = next(name for name, value in feeds.items() if value.shape == (2, 1, 1, 9))
    feeds[mask] = np.zeros((2, 1, 1, 9), np.float32)
    settings = Settings(precision="fp16")
    layers = pipeline.prediction(graph, "gpu", settings).layers
    assert [one.node.op.kind for one in layers].count("Cast") == 3 + 1
    lowered = pipeline.Compiled(*pipeline.stages(graph, "gpu", settings=settings)).lowered
    found = evaluate(lowered, feeds)
    assert all(np.isfinite(found[name]).all() for name in lowered.outputs)
    check_graph(graph, feeds, is_quick=True, target="gpu", settings=settings)


@pytest.mark.fast
def test_scores_that_others_read_stay_products() -> None:
    net = Network()
    queries, keys, values = (net.given(floats(2, 3, size, 16)) for size in (7, 9, 9))
    scores = net.add(MatMul(trans_b=True), queries, keys)
    net.builder.output(net.add(MatMul(), net.add(Softmax(-1), added(net, scores)), values))
    net.builder.output(scores)
    assert kinds(net.build()[0])["MaskedAttention"] == 0
