"""Matrix products that read and store permuted axes give the same bits; Transposes that nothing takes over stay."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.small import Small, changed_by, feeds_of, integers, kinds
from tests.support.checks import check_graph
from tests.support.examples import examples
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.requant import full_range
from tilewright.ir.types import Shape
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.itamax import ITAMax
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes.fuse_requant import FUSE_REQUANT
from tilewright.passes.layout.absorb_transposes import ABSORB_TRANSPOSES, reads_neighbours
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS

NARROW = full_range(10, "int8")


class Attention(Small):
    tokens, heads, size = 6, 3, 4

    def product(self, a: str, b: str, op: MatMul | None = None) -> str:
        mul, add = self.constant(integers("int32", 1, low=1, high=99)), self.constant(integers("int32", 1))
        return self.builder.add(op or MatMul(requant=NARROW), [a, b, "", mul, add])[0]

    def projection(self, x: str, columns: int) -> str:
        return self.product(x, self.constant(integers("int8", self.shape(x)[-1], columns)))

    def split(self, x: str) -> str:
        return self.add(Reshape((self.tokens, self.heads, self.size)), x)

    def attention(self) -> Graph:
        x = self.input("x", self.tokens, 5)
        q, k, v = (self.split(self.projection(x, self.heads * self.size)) for _ in range(3))
        q = self.add(Transpose((1, 0, 2)), q)
        k = self.add(Lookup(), self.add(Transpose((1, 2, 0)), k), self.constant(integers("int8", 256)))
        v = self.add(Transpose((1, 0, 2)), v)
        shares = self.add(ITAMax(), self.product(q, k))
        mixed = self.add(Transpose((1, 0, 2)), self.product(shares, v))
        rows = self.add(Reshape((self.tokens, self.heads * self.size)), mixed)
        return self.graph(self.projection(rows, 5))


def absorbed(graph: Graph) -> Graph:
    return changed_by(graph, ABSORB_TRANSPOSES)


def products(graph: Graph) -> list[MatMul]:
    return [node.op for node in graph.nodes if isinstance(node.op, MatMul)]


@pytest.mark.fast
def test_heads_of_attention_are_read_and_stored_in_place() -> None:
    changed = absorbed(Attention().attention())
    assert "Transpose" not in kinds(changed)
    assert (1, 0, 2) in {op.perm_y for op in products(changed)}


@pytest.mark.in_turns(5)
def test_compiled_attention() -> None:
    graph = changed_by(Attention().attention(), ABSORB_TRANSPOSES, TRANSPOSE_WEIGHTS)
    check_graph(graph, feeds_of(graph), tolerance=0)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("trans_b", "bias", "factor"),
    list(product([False, True], [None, (), (1,), (12,), (6, 12), (6, 1), (2, 1, 12)], [(1,), (6, 1)])),
)
def test_heads_are_products_of_their_own(trans_b: bool, bias: Shape | None, factor: Shape) -> None:
    """An output of heads cannot be one product that is stored in another order."""
    small = Small()
    operands = [small.input("x", 2, 6, 5), small.constant(integers("int8", *((12, 5) if trans_b else (5, 12))))]
    operands += ["" if bias is None else small.constant(integers("int32", *bias))]
    operands += [small.constant(integers("int32", *factor, low=1, high=99)) for _ in range(2)]
    product = small.builder.add(MatMul(trans_b=trans_b, requant=NARROW), operands)[0]
    heads = small.add(Transpose((0, 2, 1, 3)), small.add(Reshape((2, 6, 3, 4)), product))
    changed = absorbed(small.graph(heads))
    assert kinds(changed) == ["Reshape", "MatMul"]
    assert changed.types[changed.outputs[0]].shape == (2, 3, 6, 4)


@pytest.mark.fast
def test_orders_of_axes_end_where_their_number_changes() -> None:
    """A reduction that drops an axis has an operand of more axes than its Transpose, a broadcast one of fewer."""
    dropped = Attention()
    largest = dropped.add(ReduceMax((2,), keepdims=False), dropped.projection(dropped.input("x", 2, 6, 3, 5), 4))
    assert kinds(absorbed(dropped.graph(dropped.add(Transpose((1, 0, 2)), largest)))) == [
        "MatMul", "ReduceMax", "Transpose",
    ]  # fmt: skip
    wider = Attention()
    total = wider.add(Max(), wider.projection(wider.input("x", 6, 5), 4), wider.constant(integers("int8", 3, 6, 4)))
    assert kinds(absorbed(wider.graph(wider.add(Transpose((1, 0, 2)), total)))) == ["MatMul", "Max", "Transpose"]


@pytest.mark.fast
def test_heads_that_stay_together() -> None:
    for columns, per_column in ((2, False), (4, True)):
        small = Attention()
        rows = small.input("x", 6, 5)
        total = small.add(MatMul(), rows, small.constant(integers("int8", 5, 3 * columns)))
        product = changed_by(small.graph(small.requant(total, 1 if per_column else -1)), FUSE_REQUANT)
        builder = rebuild(product)
        for node in product.nodes:
            builder.add(node.op, node.inputs, node.outputs)
        (view,) = builder.add(Reshape((6, 3, columns)), product.outputs)
        builder.output(builder.add(Transpose((1, 0, 2)), [view])[0])
        assert kinds(absorbed(builder.build())) == ["MatMul", "Reshape", "Transpose"]


@pytest.mark.fast
def test_swapped_matrices_need_no_order() -> None:
    small = Small()
    a, b = (
        small.add(Transpose((0, 2, 1)), small.input("a", 2, 5, 4)),
        small.add(Transpose((1, 0)), small.input("b", 3, 5)),
    )
    (op,) = products(absorbed(small.graph(small.add(MatMul(), a, b))))
    assert (op.trans_a, op.trans_b, op.perm_a, op.perm_b) == (True, True, (), ())
    small = Small()
    b = small.add(Transpose((1, 0)), small.input("b", 3, 5))
    (op,) = products(absorbed(small.graph(small.add(MatMul(trans_b=True), small.input("a", 2, 3), b))))
    assert not op.trans_b


@pytest.mark.fast
def test_reshapes_between_are_passed() -> None:
    small = Small()
    heads = small.add(Transpose((0, 2, 1, 3)), small.input("x", 1, 6, 3, 4))
    product = small.add(MatMul(), small.add(Reshape((3, 6, 4)), heads), small.input("b", 3, 4, 5))
    assert kinds(absorbed(small.graph(product))) == ["Reshape", "MatMul"]


@pytest.mark.fast
def test_operands_are_stored_in_rows() -> None:
    """Queries are made head by head, as they are multiplied; rows of values are not scattered into columns."""
    small = Attention()
    queries = small.product(small.input("x", 6, 3, 4), small.input("w", 6, 4, 4))
    queries = small.requant(small.add(Transpose((1, 0, 2)), queries), shift=5)
    scores = small.product(queries, small.input("keys", 3, 4, 7))
    values = small.product(small.input("y", 3, 7, 5), small.input("v", 3, 5, 4))
    changed = absorbed(small.graph(small.product(scores, values)))
    maker, first, other, second = products(changed)
    assert (maker.perm_y, first.perm_a) == ((1, 0, 2), ())
    assert (other.perm_y, second.trans_b) == ((), False)
    assert kinds(changed).count("Transpose") == 0


@pytest.mark.fast
def test_rows_are_not_scattered() -> None:
    small = Attention()
    turned = small.add(Transpose((1, 0)), small.projection(small.input("x", 6, 5), 8))
    assert kinds(absorbed(small.graph(turned))) == ["MatMul", "Transpose"]


@pytest.mark.fast
def test_values_that_no_product_makes_stay() -> None:
    small = Small()
    graph = small.graph(small.add(MatMul(), small.input("a", 7, 6), small.add(Relu(), small.input("b", 6, 8))))
    assert absorbed(graph).nodes == graph.nodes


@pytest.mark.fast
def test_outputs_that_products_read_too() -> None:
    """As in a cache of keys: the output's order is the one that is stored."""
    small = Attention()
    keys = small.product(small.input("x", 6, 3, 4), small.input("w", 6, 4, 4))
    out = small.add(Transpose((1, 0, 2)), small.add(Lookup(), keys, small.constant(integers("int8", 256))))
    scores = small.product(small.input("q", 3, 6, 4), small.add(Transpose((0, 2, 1)), out))
    changed = absorbed(small.graph(out, scores))
    assert "Transpose" not in kinds(changed)


@pytest.mark.fast
def test_transposes_that_others_need_stay() -> None:
    small = Small()
    heads = small.add(Transpose((1, 0, 2)), small.input("x", 6, 3, 4))
    product = small.add(MatMul(), heads, small.input("b", 3, 4, 5))
    assert kinds(absorbed(small.graph(product, small.add(Relu(), heads)))).count("Transpose") == 1
    small = Small()
    biased = small.add(Transpose((1, 0)), small.input("c", 5, 6, dtype="int32"))
    total = small.builder.add(MatMul(), [small.input("a", 6, 4), small.input("b", 4, 5), biased])[0]
    assert kinds(absorbed(small.graph(total))) == ["Transpose", "MatMul"]


@pytest.mark.fast
def test_a_transpose_does_not_sink_into_wider_elements() -> None:
    small = Small()
    wide = small.requant(small.add(Transpose((1, 0)), small.input("x", 6, 4)), dtype="int32")
    assert kinds(absorbed(small.graph(wide))) == ["Transpose", "RequantShift"]


@pytest.mark.fast
def test_images_that_are_turned() -> None:
    """Height and width change places in the convolution, and the input's Transpose does the rest."""
    small = Small()
    conv = Conv((2, 1), (1, 2), (1, 0, 2, 3))
    x = small.add(conv, small.input("x", 1, 3, 7, 9), small.constant(integers("int8", 4, 3, 3, 2)))
    turned = small.add(Transpose((0, 3, 2, 1)), x)
    graph = small.graph(small.add(Reshape((1, small.builder.types[turned].elements)), turned))
    changed = changed_by(graph, CHANNELS_LAST, ABSORB_TRANSPOSES)
    assert kinds(changed).count("Transpose") == 1


@pytest.mark.fast
@pytest.mark.parametrize("trans", [False, True])
def test_constant_weights_are_stored_by_columns(trans: bool) -> None:
    small = Small()
    weights = small.constant(integers("int8", *((5, 4) if trans else (4, 5))))
    first = small.add(MatMul(trans_b=trans), small.input("a", 3, 4), weights)
    second = small.add(MatMul(trans_b=trans), small.input("b", 2, 4), weights)
    third = small.add(MatMul(trans_a=True), small.constant(integers("int8", 6, 7)), small.input("c", 6, 2))
    fourth = small.add(MatMul(), small.input("d", 2, 3, 4), small.constant(integers("int8", 2, 4, 5)))
    changed = changed_by(small.graph(first, second, third, fourth), TRANSPOSE_WEIGHTS)
    for node in changed.nodes:
        assert isinstance(node.op, MatMul)
        for position in (0, 1):
            kind = changed.types[node.inputs[position]]
            if node.inputs[position] in changed.constants:
                assert reads_neighbours(node.op, position, kind.shape)
    assert len(changed.constants) == 3


SHAPES = [(2, 3, 4), (4, 6), (1, 4, 6), (6, 2, 2), (24, 1), (2, 3, 3), (6, 3), (3, 6), (1, 2, 9), (6, 6), (3, 3, 4)]


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Random graphs of products, Transposes, views and element-by-element operators on tensors of 24 elements."""
    small = Attention()
    made = [small.input("x", 2, 3, 4), small.input("y", 4, 6)]
    for _ in range(draw(st.integers(2, 9))):
        x = draw(st.sampled_from(made))
        rank = len(small.shape(x))
        step = draw(st.sampled_from(["transpose", "transpose", "reshape", "product", "product", "requant", "sum"]))
        if step == "transpose":
            made.append(small.add(Transpose(tuple(draw(st.permutations(range(rank))))), x))
        elif step == "reshape":
            shapes = [shape for shape in SHAPES if math.prod(shape) == math.prod(small.shape(x))]
            made.append(small.add(Reshape(draw(st.sampled_from([small.shape(x), *shapes]))), x))
        elif step == "requant":
            made.append(small.requant(x, draw(st.integers(-1, rank - 1)), shift=6))
        elif step == "sum":
            made.append(
                small.requant(small.add(Add(wide=True), x, small.constant(integers("int8", small.shape(x)[-1]))))
            )
        else:
            op = MatMul(draw(st.booleans()), draw(st.booleans()), requant=NARROW)
            inner = small.shape(x)[-2 if op.trans_a else -1]
            fitting = [
                t for t in made if rank == len(small.shape(t)) and small.shape(t)[-1 if op.trans_b else -2] == inner
            ]
            fitting = [t for t in fitting if small.shape(t)[:-2] == small.shape(x)[:-2]]
            shape = (3, inner) if op.trans_b else (inner, 3)
            other = draw(st.sampled_from([*fitting, ""])) or small.constant(integers("int8", *shape))
            made.append(small.product(x, other, op))
    return small.graph(*dict.fromkeys([made[-1], draw(st.sampled_from(made[2:]))]))


@pytest.mark.in_turns(6)
@examples(100)
@given(networks())
def test_random_networks(graph: Graph) -> None:
    changed = changed_by(graph, ABSORB_TRANSPOSES, TRANSPOSE_WEIGHTS)
    assert kinds(changed).count("Transpose") <= kinds(graph).count("Transpose")
