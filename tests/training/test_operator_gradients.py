"""Every rule for gradients is held to differences of what its operator computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.double import evaluated
from tests.support.examples import examples
from tests.training import derivatives
from tests.training.operator_cases import FLAT, Case, all_cases, case, real
from tilewright import ops
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops._elementwise import FloatUnary
from tilewright.training.differentiate import gradients

pytestmark = pytest.mark.fast

CASES = all_cases()

ELSEWHERE = {"Conv", "ConvTranspose"}
"""Operators whose cases are drawn below."""


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("drawn", [one for one in CASES if one.op.kind not in FLAT], ids=str)
def test_differences(drawn: Case) -> None:
    derivatives.check(drawn.op, drawn.arrays, drawn.wanted)


@pytest.mark.parametrize("kind", FLAT)
def test_flat_functions_have_no_slope(kind: str) -> None:
    (flat,) = (one for one in CASES if one.op.kind == kind)
    with pytest.raises(CompileError, match="every path has a function that is flat between steps"):
        derivatives.graph_of(flat.op, flat.arrays, [0])


def test_every_rule_has_a_case() -> None:
    ruled = {operator.__name__ for operator in ops.all_operators() if operator.has_rule()}
    assert {one.op.kind for one in CASES} | ELSEWHERE >= ruled


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_places_that_are_no_numbers_become_no_integers(mode: str, padding: str) -> None:
    """In C such a cast is undefined: an element of the image has to stand for them."""
    grid = np.array([np.nan, -np.inf, np.inf, -np.nan, 0.1, 1e30, -1e30], np.float32).reshape(1, 7, 1)
    drawn = case("GridSample", real(1, 2, 5), grid, mode=mode, padding=padding)
    wanted = [0] if mode == "nearest" else [0, 1]
    graph, _ = derivatives.graph_of(drawn.op, drawn.arrays, wanted)
    with np.errstate(invalid="ignore", over="ignore"):
        values = evaluated(graph, {f"x{place}": drawn.arrays[place] for place in wanted})
    casts = [node for node in graph.nodes if node.op.kind == "Cast" and graph.types[node.key].dtype == "int32"]
    assert casts
    for node in casts:
        assert ((values[node.inputs[0]] >= 0) & (values[node.inputs[0]] <= 4)).all()


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 2))
    groups, channels, filters = draw(st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)))
    taps, strides, dilations = (tuple(draw(st.integers(1, 3)) for _ in range(rank)) for _ in range(3))
    padding = tuple(draw(st.integers(0, 3)) for _ in range(2 * rank))
    reach = [(n - 1) * d + 1 for n, d in zip(taps, dilations, strict=True)]
    least = [max(1, n - padding[axis] - padding[rank + axis]) for axis, n in enumerate(reach)]
    sizes = [draw(st.integers(n, n + 4)) for n in least]
    x, w = real(draw(st.integers(1, 2)), groups * channels, *sizes), real(groups * filters, channels, *taps)
    bias = draw(st.sampled_from([None, real(groups * filters), real(1)]))
    fields: dict[str, Any] = {"strides": strides, "dilations": dilations, "padding": padding, "groups": groups}
    if draw(st.booleans()):
        x, w = (np.ascontiguousarray(np.moveaxis(array, 1, -1)) for array in (x, w))
        return case("Conv", x, w, bias, channels_last=True, **fields)
    return case("Conv", x, w, bias, **fields)


@st.composite
def transposed(draw: st.DrawFn) -> Case:
    groups, channels, filters = draw(st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 3)))
    taps, strides, dilations = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(3))
    before, spatial = draw(st.tuples(*[st.integers(-2, 2)] * 2)), draw(st.tuples(*[st.integers(2, 9)] * 2))
    x, w = real(draw(st.integers(1, 2)), groups * channels, 3, 2), real(groups * channels, filters, *taps)
    fields = {"strides": strides, "dilations": dilations, "before": before, "spatial": spatial}
    return case("ConvTranspose", x, w, real(groups * filters), groups=groups, **fields)


@pytest.mark.in_turns(3)
@given(convolutions())
@examples(40)
def test_convolutions(drawn: Case) -> None:
    derivatives.check(drawn.op, drawn.arrays)


@pytest.mark.in_turns(6)
@given(transposed())
@examples(40)
def test_transposed_convolutions(drawn: Case) -> None:
    derivatives.check(drawn.op, drawn.arrays)


@st.composite
def matrix_products(draw: st.DrawFn) -> Case:
    m, n, k = draw(st.tuples(*[st.integers(1, 4)] * 3))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    sides = []
    for _ in "AB":
        kept = draw(st.integers(0, len(batch)))
        sides.append([draw(st.sampled_from([1, size])) for size in batch[len(batch) - kept :]])
    trans_a, trans_b = draw(st.booleans()), draw(st.booleans())
    a = real(*sides[0], *((k, m) if trans_a else (m, k)))
    b = real(*sides[1], *((n, k) if trans_b else (k, n)))
    return case("MatMul", a, b, trans_a=trans_a, trans_b=trans_b, alpha=draw(st.sampled_from([1.0, -0.5])))


@pytest.mark.in_turns(3)
@given(matrix_products())
@examples(40)
def test_matrix_products(drawn: Case) -> None:
    derivatives.check(drawn.op, drawn.arrays)


@pytest.mark.in_turns(3)
@given(st.data())
@examples(40)
def test_cuts_and_borders(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    starts, steps, sizes = [], [], []
    for size in shape:
        step, count = data.draw(st.sampled_from([-2, -1, 1, 2, 3])), data.draw(st.integers(1, size))
        count = min(count, (size - 1) // abs(step) + 1)
        room = size - 1 - (count - 1) * abs(step)
        start = data.draw(st.integers(0, room)) + ((count - 1) * -step if step < 0 else 0)
        starts.append(start), steps.append(step), sizes.append(count)
    fields = {"starts": tuple(starts), "steps": tuple(steps), "sizes": tuple(sizes)}
    drawn = case("Slice", real(*shape), **fields)
    derivatives.check(drawn.op, drawn.arrays)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    derivatives.check(case("Transpose", real(*shape), perm=order).op, [real(*shape)])


def test_a_tensor_that_is_read_twice_has_the_sum() -> None:
    """d/dx of x * x + x."""
    builder = Builder("twice")
    x = builder.input("x", TensorType("float32", (1,)))
    (square,) = builder(case("Mul").op, [x, x])
    (loss,) = builder(case("Add").op, [square, x])
    found = gradients(builder, loss, [x])
    builder.output(found[x])
    graph = builder.build()
    values = derivatives.evaluated(graph, {"x": np.array([3.0])})
    np.testing.assert_allclose(values[found[x]], [7.0])


def test_slices_of_one_tensor_give_back_one_concat() -> None:
    """Also in another order; where a piece is missing, there are zeros in its place."""
    for sizes in ((2, 3, 1), (2, 3)):
        builder = Builder("slices")
        x, total, start = builder.input("x", TensorType("float32", (6, 2))), "", 0
        for size in sizes:
            part = case("Slice", starts=(start, 0), steps=(1, 1), sizes=(size, 2)).op
            (piece,) = builder(part, [x])
            (power,) = builder(case("Mul").op, [piece, piece])
            (found,) = builder(case("ReduceSum", axes=(0, 1), keepdims=False).op, [power])
            (total,) = builder(case("Add").op, [found, total]) if total else (found,)
            start += size
        slope = gradients(builder, total, [x])[x]
        builder.output(slope)
        graph = builder.build()
        assert (graph.producers[slope].op.kind == "Concat") == (start == 6)
        given = np.arange(12.0).reshape(6, 2)
        expected = np.where(np.arange(6)[:, None] < start, 2 * given, 0)
        np.testing.assert_allclose(derivatives.evaluated(graph, {"x": given})[slope], expected)


def blocked(op: Op) -> str:
    """What is said of a weight whose product goes through an operator on its way to the loss."""
    builder = Builder("blocked")
    x, w = builder.input("x", TensorType("float32", (2, 3))), builder.input("w", TensorType("float32", (3, 4)))
    (product,) = builder.add(case("MatMul").op, [x, w], name="head")
    (seen,) = builder.add(op, [product], name="seen")
    (wide,) = builder(case("Cast", to="float32").op, [seen])
    (loss,) = builder.add(case("ReduceSum", axes=(0, 1), keepdims=False).op, [wide], name="loss")
    with pytest.raises(CompileError) as caught:
        gradients(builder, loss, [w])
    return str(caught.value)


@dataclass(frozen=True)
class Steep(FloatUnary):
    """Has no rule."""


def test_an_operator_without_gradient_is_named_with_the_path() -> None:
    path = "it is on the path to the loss: weight 'w' -> head -> seen"
    hint = "  hint: train only weights after it, for example last:1"
    without_rule = f"node 'seen' (Steep): it has no gradient; {path} -> Cast -> loss\n{hint}"
    assert blocked(Steep()) == without_rule
    no_float = f"node 'seen' (IsNaN): it gives b8[2x4], which has no gradient; {path} -> loss\n{hint}"
    assert blocked(case("IsNaN").op) == no_float


@pytest.mark.parametrize(
    ("drawn", "kinds"),
    [
        (case("Conv", real(1, 6, 5, 2), real(3, 3, 3, 2), strides=(2, 1), padding=(1, 1, 1, 1), channels_last=True),
         ("ConvInputGrad", "ConvWeightGrad")),
        (case("MaxPool", real(1, 6, 5, 2), kernel=(3, 2), strides=(2, 2), padding=(1, 0, 1, 1), channels_last=True),
         ("MaxPoolGrad",)),
        (case("AveragePool", real(1, 6, 5, 2), kernel=(3, 2), padding=(1, 0, 1, 1), channels_last=True),
         ("ConvInputGrad",)),
        (case("Relu", real(3, 4)), ("ReluGrad",)),
        (case("Gelu", real(3, 4), approximate="tanh"), ("GeluGrad",)),
    ],
    ids=str,
)  # fmt: skip
def test_rules_ask_for_operators_that_have_kernels(drawn: Case, kinds: tuple[str, ...]) -> None:
    wanted = [place for place, array in enumerate(drawn.arrays) if array is not None]
    graph, _ = derivatives.graph_of(drawn.op, drawn.arrays, wanted)
    assert set(kinds) <= {node.op.kind for node in graph.nodes}
    derivatives.check(drawn.op, drawn.arrays)
