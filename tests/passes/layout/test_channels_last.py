"""Channels last changes no result, and transposes no more than it must."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.small import Small, changed_by, feeds_of, integers, kinds, transposed_bytes
from tests.support.checks import check_graph
from tests.support.examples import examples
from tilewright import targets
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.ops._scaling import Scaling
from tilewright.ops._windows import Windowed
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.globalmaxpool import GlobalMaxPool
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.mul import Mul
from tilewright.ops.pad import Pad
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.relu import Relu
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes.layout.channels_last import CHANNELS_LAST

SUM = RequantizedAdd(out=Scaling(1, 0, full_range(1, "int8")))
SAME = Conv(padding=(1, 1, 1, 1), requant=full_range(12, "int8"))


class Images(Small):
    def conv(self, x: str, filters: int, op: Conv = SAME, taps: int = 3) -> str:
        channels, rank = self.shape(x)[1] // op.groups, len(self.shape(x)) - 2
        weights = self.constant(integers("int8", filters, channels, *(taps,) * rank))
        factors = [self.constant(integers("int32", filters, low=1, high=99)) for _ in range(2)]
        return self.builder.add(op, [x, weights, "", *factors])[0]


def rewritten(graph: Graph) -> Graph:
    changed = changed_by(graph, CHANNELS_LAST)
    assert all(node.op.channels_last for node in changed.nodes if isinstance(node.op, Windowed))
    return changed


@pytest.mark.fast
def test_only_the_boundary_is_transposed() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 3, 6, 6), 8)
    body = images.conv(images.conv(x, 8, replace(SAME, groups=8)), 8)
    x = images.add(SUM, x, body)
    x = images.add(MaxPool((2, 2), kernel=(2, 2)), images.requant(x, axis=1))
    changed = rewritten(images.graph(x))
    assert kinds(changed).count("Transpose") == 2
    assert transposed_bytes(changed) == 3 * 36 + 8 * 9


@pytest.mark.fast
def test_views_at_the_boundary() -> None:
    images = Images()
    x = images.conv(images.input("x", 2, 1, 6, 6), 8)
    changed = rewritten(images.graph(images.add(GlobalMaxPool(), x)))
    assert kinds(changed) == ["Reshape", "Conv", "ReduceMax", "Reshape"]


@pytest.mark.fast
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_weights_take_over_what_a_flatten_meets(trans_b: bool, batch: int) -> None:
    images = Images()
    x = images.conv(images.input("x", batch, 1, 4, 5), 6)
    rows = images.add(Reshape((batch, 120)), x)
    weights = images.constant(integers("int8", *((7, 120) if trans_b else (120, 7))))
    changed = rewritten(images.graph(images.add(MatMul(trans_b=trans_b), rows, weights)))
    assert kinds(changed) == ["Reshape", "Conv", "Reshape", "MatMul"]


@pytest.mark.fast
def test_rows_that_others_read_keep_their_order() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 1, 4, 5), 6)
    rows = images.add(Reshape((1, 120)), x)
    product = images.add(MatMul(), rows, images.constant(integers("int8", 120, 7)))
    assert "Transpose" in kinds(rewritten(images.graph(product, images.add(Relu(), rows))))


@pytest.mark.fast
def test_squeeze_and_excite() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 1, 6, 6), 8)
    gate = images.conv(images.add(ReduceMean((2, 3), True, True), x), 8, replace(SAME, padding=(0, 0, 0, 0)), 1)
    scaled = images.requant(images.add(Mul(wide=True), x, gate), shift=6)
    changed = rewritten(images.graph(images.add(GlobalMaxPool(), scaled)))
    assert "Transpose" not in kinds(changed)


@pytest.mark.fast
def test_transposes_that_a_model_has_go_where_sums_follow_them() -> None:
    """Products of pixels between convolutions, with sums around them, as ConvNeXt has them."""
    images = Images()
    x = images.conv(images.input("x", 1, 3, 6, 6), 8)
    for _ in range(2):
        pixels = images.add(Transpose((0, 2, 3, 1)), images.conv(x, 8, replace(SAME, groups=8)))
        product = images.requant(images.add(MatMul(), pixels, images.constant(integers("int8", 8, 8))), shift=6)
        x = images.add(SUM, x, images.add(Transpose((0, 3, 1, 2)), product))
    changed = rewritten(images.graph(x))
    assert transposed_bytes(changed) == 3 * 36 + 8 * 36


@pytest.mark.fast
def test_constants_that_are_broadcast() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 1, 6, 6), 8)
    for shape in ((8, 1, 1), (1, 8, 1, 6), (6,), (1,), (1, 1, 1, 1)):
        x = images.add(SUM, x, images.constant(integers("int8", *shape)))
        x = images.add(Lookup(), x, images.constant(integers("int8", 256)))
    changed = rewritten(images.graph(images.add(GlobalMaxPool(), x)))
    assert "Transpose" not in kinds(changed)


@pytest.mark.fast
def test_broadcast_operands_of_lower_rank() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 1, 6, 6), 8)
    total = images.add(SUM, x, images.input("row", 6))
    total = images.add(SUM, total, images.input("channels", 8, 1, 1))
    changed = rewritten(images.graph(images.add(GlobalMaxPool(), total)))
    assert transposed_bytes(changed) == 0


@pytest.mark.fast
def test_concatenations_pads_and_lines() -> None:
    images = Images()
    line = Conv((1,), (1,), (1, 1), requant=full_range(12, "int8"))
    x = images.conv(images.input("x", 2, 1, 9), 4, line)
    y = images.add(Pad((0, 0, 1, 0, 2, 1)), images.add(Concat(1), x, images.conv(x, 3, line)))
    changed = rewritten(images.graph(images.conv(y, 5, line)))
    assert kinds(changed).count("Transpose") == 1


@pytest.mark.fast
def test_transposes_of_the_model_meet_ours() -> None:
    """As exporters from channels-last frameworks write them."""
    images = Images()
    x = images.add(Transpose((0, 3, 1, 2)), images.input("x", 1, 6, 6, 3))
    y = images.add(Transpose((0, 2, 3, 1)), images.conv(x, 8))
    assert kinds(rewritten(images.graph(y))) == ["Conv"]


@pytest.mark.fast
def test_tokens_of_an_image_are_views() -> None:
    images = Images()
    x = images.conv(images.input("x", 1, 1, 6, 6), 8)
    tokens = images.add(Transpose((0, 2, 1)), images.add(Reshape((1, 8, 36)), x))
    assert kinds(rewritten(images.graph(tokens))) == ["Reshape", "Conv", "Reshape"]


@pytest.mark.fast
def test_the_smaller_tensor_is_transposed() -> None:
    """What is wide after the convolution is transposed before it is widened, and the other way round."""
    images = Images()
    narrow = images.conv(images.input("x", 1, 1, 6, 6), 8)
    wide = images.requant(narrow, dtype="int32")
    changed = rewritten(images.graph(wide))
    assert transposed_bytes(changed) == 8 * 36


@pytest.mark.fast
def test_weights_that_are_computed() -> None:
    images = Images()
    x, w = images.input("x", 1, 3, 5, 5), images.input("w", 4, 3, 3, 3)
    assert kinds(rewritten(images.graph(images.add(Conv(), x, w)))).count("Transpose") == 3


@pytest.mark.fast
def test_graphs_without_windows_stay() -> None:
    small = Small()
    graph = small.graph(small.requant(small.add(Transpose((0, 2, 1)), small.input("x", 2, 3, 4))))
    assert CHANNELS_LAST.run(graph) is graph


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Random networks with branches: each operator takes any tensors made before."""
    images = Images()
    made = [images.input("x", 1, draw(st.sampled_from([1, 3])), 4, 5)]
    for _ in range(draw(st.integers(1, 8))):
        x, other = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        together = images.shape(x) == images.shape(other)
        step = draw(st.sampled_from(["conv", "depthwise", "pool", "sum", "concat", "requant", "table", "gate"]))
        if step == "conv":
            made.append(images.conv(x, draw(st.integers(1, 4))))
        elif step == "depthwise":
            made.append(images.conv(x, images.shape(x)[1], replace(SAME, groups=images.shape(x)[1])))
        elif step == "pool":
            made.append(images.add(MaxPool(padding=(1, 1, 1, 1), kernel=(3, 3)), x))
        elif step == "sum" and together:
            made.append(images.add(SUM, x, other))
        elif step == "concat":
            made.append(images.add(Concat(1), x, other))
        elif step == "requant":
            made.append(images.requant(x, draw(st.sampled_from([-1, 1])), shift=6))
        elif step == "table":
            made.append(images.add(Lookup(), x, images.constant(integers("int8", 256))))
        elif step == "gate":
            gate = images.add(ReduceMean((2, 3), True, True), x)
            made.append(images.requant(images.add(Mul(wide=True), x, gate), shift=8))
    return images.graph(*dict.fromkeys([made[-1], draw(st.sampled_from(made[1:] or made))]))


@pytest.mark.in_turns(5)
@pytest.mark.fast
@examples(60)
@given(networks())
def test_random_networks(graph: Graph) -> None:
    changed = rewritten(graph)
    assert transposed_bytes(changed) <= sum(2 * kind.bytes for kind in graph.types.values())


@pytest.mark.in_turns(5)
def test_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C of a rewritten network gives what the network gave before."""
    own = replace(targets.find("generic"), passes=(CHANNELS_LAST,))
    monkeypatch.setattr(targets, "find", lambda name: own)
    images = Images()
    x = images.conv(images.input("x", 2, 3, 6, 6), 8)
    x = images.add(Add(), x, images.conv(images.conv(x, 8, replace(SAME, groups=4)), 8))
    x = images.add(MaxPool((2, 2), kernel=(2, 2)), x)
    rows = images.add(Reshape((2, 72)), x)
    scores = images.add(MatMul(), rows, images.constant(integers("int8", 72, 5)))
    graph = images.graph(scores, images.add(ReduceMean((2, 3), True, True), x))
    check_graph(graph, feeds_of(graph), tolerance=0)
    assert np.all([node.op.channels_last for node in own.passes[0].run(graph).nodes if isinstance(node.op, Windowed)])
