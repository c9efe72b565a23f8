"""Passes say what they require and ensure; whoever breaks that is named, with the node, in an error of our own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.passes.numerics import test_functions
from tests.passes.small import Small, integers
from tests.passes.test_canonicalize_attention import attention as written_attention
from tests.support.tflite_draws import scaled_add
from tests.targets.pulp.random_cases import Draw
from tilewright import targets
from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ops.add import Add
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.div import Div
from tilewright.ops.exp import Exp
from tilewright.ops.identity import Identity
from tilewright.ops.lookup import Lookup
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.neg import Neg
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.relu import Relu
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.passes import Pass, apply, nothing
from tilewright.passes.canonicalize_attention import CANONICALIZE_ATTENTION, CANONICALIZE_LANGUAGE
from tilewright.passes.collapse_tflite_add import COLLAPSE_TFLITE_ADD, one_rounding
from tilewright.passes.convolve import CONVOLVE
from tilewright.passes.crop_windows import CROP_WINDOWS
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.drop_zero_biases import DROP_ZERO_BIASES
from tilewright.passes.fit.join_in_place import JOIN_IN_PLACE, TABLES_FIRST, copying_operands
from tilewright.passes.fit.split_constants import splitting_constants
from tilewright.passes.fit.split_steps import splitting_steps
from tilewright.passes.fit.split_sums import splitting_sums
from tilewright.passes.fit.tile_outputs import copied_outputs
from tilewright.passes.fold_batchnorm import FOLD_BATCHNORM
from tilewright.passes.fold_constants import FOLD_CONSTANTS
from tilewright.passes.fold_zero_points import FOLD_ZERO_POINTS
from tilewright.passes.fuse_activations import fuse_activations
from tilewright.passes.fuse_attention import fuse_attention
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.fuse_integer_div import FUSE_INTEGER_DIV
from tilewright.passes.fuse_patterns import FUSE_PATTERNS
from tilewright.passes.fuse_requant import FUSE_REQUANT
from tilewright.passes.int8_to_uint8 import INT8_TO_UINT8
from tilewright.passes.layout.absorb_transposes import ABSORB_TRANSPOSES
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.passes.layout.simplify_transposes import SIMPLIFY_TRANSPOSES
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS
from tilewright.passes.numerics.functions import FUNCTIONS_BY_STEPS
from tilewright.passes.numerics.hardware import LOSSLESS, native_requantisations
from tilewright.passes.pack_weights import PACK_WEIGHTS
from tilewright.passes.quantise.rules import QUANTISE
from tilewright.passes.separate_outputs import SEPARATE_OUTPUTS
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS
from tilewright.passes.tabulate import TABULATE
from tilewright.passes.widen_weights import WIDEN_WEIGHTS
from tilewright.pipeline import IMPORT_PASSES, PASSES, QUANTISING

pytestmark = pytest.mark.fast


def same(graph: Graph) -> Graph:
    """What a pass does that forgets its work."""
    return graph


def identity() -> Graph:
    small = Small()
    return small.graph(small.add(Identity(), small.add(Relu(), small.input("x", 2, 3))))


def zero_bias() -> Graph:
    small = Small()
    factors = small.input("x", 2, 3), small.constant(integers("int8", 3, 4)), small.constant(np.zeros(4, np.int32))
    return small.graph(small.add(MatMul(trans_b=False), *factors))


def constant() -> Graph:
    small = Small()
    small.input("x", 2)
    return small.graph(small.add(Relu(), small.constant(integers("int8", 5))))


def shared_output() -> Graph:
    small = Small()
    return small.graph(small.input("x", 2, 3))


def channels_second() -> Graph:
    small = Small()
    return small.graph(small.add(Conv(), small.input("x", 1, 3, 5, 5), small.constant(integers("int8", 2, 3, 1, 1))))


def shared_operand() -> Graph:
    small = Small()
    x = small.input("x", 2, 3)
    return small.graph(small.add(Concat(0), x, x))


def chained_transposes() -> Graph:
    small = Small()
    turned = small.add(Transpose((1, 0, 2)), small.input("x", 2, 3, 4))
    return small.graph(small.add(Transpose((2, 0, 1)), turned))


def added_bias() -> Graph:
    small = Small()
    product = small.add(MatMul(), small.input("x", 2, 3, dtype="float32"), small.constant(np.ones((3, 4), np.float32)))
    return small.graph(small.add(Add(), product, small.constant(np.ones(4, np.float32))))


def normalised_twice() -> Graph:
    """The second can be folded when the first has been."""
    small = Small()
    weights = small.constant(np.ones((2, 3, 1, 1), np.float32))
    made = small.add(Conv(), small.input("x", 1, 3, 5, 5, dtype="float32"), weights)
    for _ in range(2):
        made = small.add(BatchNormalization(), made, *(small.constant(np.ones(2, np.float32)) for _ in range(4)))
    return small.graph(made)


def zero_point() -> Graph:
    small = Small()
    factors = small.input("x", 2, 3), small.constant(integers("int8", 3, 4))
    return small.graph(small.add(MatMul(a_zero=5), *factors))


def factors(small: Small) -> list[str]:
    return [small.constant(np.array([value], np.int32)) for value in (3, 0)]


def requantised_product() -> Graph:
    small = Small()
    totals = small.add(MatMul(), small.input("x", 2, 3), small.constant(integers("int8", 3, 4)))
    return small.graph(small.add(RequantShift(full_range(4, "int8")), totals, *factors(small)))


def requantised_division() -> Graph:
    small = Small()
    divided = small.add(TrueIntegerDiv(delta=256, y=16), small.input("x", 2, 3, dtype="int32"))
    return small.graph(small.add(RequantShift(full_range(4, "int8")), divided, *factors(small)))


def function_of_bytes() -> Graph:
    small = Small()
    return small.graph(small.add(RequantShift(full_range(4, "int8")), small.input("x", 20, 30), *factors(small)))


def tables_of_concats() -> Graph:
    """Of one in another."""
    small = Small()
    inner = small.add(Concat(0), small.input("x", 2, 3), small.input("y", 2, 3))
    outer = small.add(Concat(0), inner, small.input("z", 2, 3))
    return small.graph(small.add(Lookup(), outer, small.constant(np.arange(256).astype(np.int8))))


def quantised_sum() -> Graph:
    """(a + b) between DequantizeLinear and QuantizeLinear."""
    small = Small()
    scale, zero = small.constant(np.array(0.5, np.float32)), small.constant(np.array(0, np.int8))
    a, b = (small.add(DequantizeLinear(), small.input(name, 2, 3), scale, zero) for name in "ab")
    return small.graph(small.add(QuantizeLinear(), small.add(Add(), a, b), scale, zero))


def transposed_factor() -> Graph:
    small = Small()
    turned = small.add(Transpose((0, 2, 1)), small.input("b", 2, 5, 3, dtype="float32"))
    return small.graph(small.add(MatMul(), small.input("a", 2, 4, 3, dtype="float32"), turned))


def few_bytes_many_products() -> Graph:
    small = Small()
    x, filters = small.input("x", 1, 8, 8, 16), small.constant(integers("int8", 16, 3, 3, 16))
    return small.graph(small.add(Conv(padding=(1, 1, 1, 1), channels_last=True), x, filters))


def short_weights() -> Graph:
    small = Small()
    weights = small.constant(np.ones((2, 3, 1, 1), np.float16))
    return small.graph(small.add(Conv(), small.input("x", 1, 3, 5, 5, dtype="float32"), weights))


def halves() -> Graph:
    small = Small()
    weights = np.ones((64, 32), np.float32)
    return small.graph(small.add(MatMul(), small.input("x", 2, 64, dtype="float32"), small.constant(weights)))


def thrice_rounded() -> Graph:
    """The first drawn sum of bytes that one rounding gives as well."""
    for seed in range(20):
        op, _ = scaled_add(Draw(np.random.default_rng(seed)))
        small = Small()
        made = small.graph(small.add(op, small.input("a", 4), small.input("b", 4)))
        if any(one_rounding(made)):
            return made
    pytest.fail("no sum was found")


def written_out_sigmoid() -> Graph:
    """1 / (1 + exp(-x))."""
    small = Small()
    one = small.constant(np.ones(1, np.float32))
    power = small.add(Exp(), small.add(Neg(), small.input("x", 4, dtype="float32")))
    return small.graph(small.add(Div(), one, small.add(Add(), one, power)))


def activated_product() -> Graph:
    small = Small()
    product = small.add(MatMul(), small.input("x", 2, 3, dtype="float32"), small.constant(np.ones((3, 4), np.float32)))
    return small.graph(small.add(Relu(), product))


def large_constant() -> Graph:
    small = Small()
    return small.graph(small.add(MatMul(), small.input("x", 2, 16), small.constant(integers("int8", 16, 64))))


def recurrent() -> Graph:
    small = Small()
    x, r = small.input("x", 6, 1, 16, dtype="float32"), small.constant(np.ones((16, 4), np.float32))
    made = small.builder.add(LSTMCells(), [x, r, *[""] * (len(LSTMCells.operands) - 2)], name="cells")
    return small.graph(*filter(None, made))


def joined() -> Graph:
    small = Small()
    return small.graph(small.add(Concat(0), *(small.add(Relu(), small.input(name, 2, 3)) for name in "ab")))


def padded_image() -> Graph:
    small = Small()
    requant, weights = full_range(9, "int8", -128), small.constant(integers("int8", 3, 3, 3, 3))
    mul, tensor = small.constant(integers("int32", 3, low=1, high=9)), small.input("x", 1, 3, 6, 6)
    for zero in (5, -128):
        tensor = small.add(Conv(padding=(1,) * 4, x_zero=zero, requant=requant), tensor, weights, "", mul)
    return small.graph(tensor)


def narrow_weights() -> Graph:
    small = Small()
    weights = small.constant(integers("int8", 32, 64, low=-8, high=7))
    return small.graph(small.add(MatMul(), small.input("x", 2, 32), weights))


def attention() -> Graph:
    small = Small()
    q, k, v = (small.input(name, 1, 2, 3, 4, dtype="float32") for name in "qkv")
    return small.graph(small.add(MatMul(), small.add(Softmax(3), small.add(MatMul(trans_b=True), q, k)), v))


def transposed_convolution() -> Graph:
    small = Small()
    weights = small.constant(np.ones((3, 2, 4, 4), np.float32))
    op = ConvTranspose(strides=(2, 2), before=(1, 1), spatial=(10, 10))
    return small.graph(small.add(op, small.input("x", 1, 3, 5, 5, dtype="float32"), weights))


def requantised() -> Graph:
    """A product whose requantisation may be the hardware's."""
    small = Small()
    factor, weights = small.constant(np.array([3], np.int32)), small.constant(integers("int8", 3, 4))
    op = MatMul(requant=full_range(9, "int8", 0, "half_even"))
    return small.graph(small.add(op, small.input("x", 2, 3), weights, "", factor))


def quantised_add() -> Graph:
    small, requant = Small(), full_range(9, "int8", 0, "half_even")
    return small.graph(small.add(QLinearAdd(300, 200, 0, requant), small.input("a", 2, 3), small.input("b", 2, 3)))


def blind_taps() -> Graph:
    small = Small()
    weights = small.constant(integers("int8", 2, 2, 3, 3))
    return small.graph(small.add(Conv((1, 1), (9, 9), (9, 9, 9, 9)), small.input("x", 1, 2, 4, 4), weights))


CASES = [
    (CROP_WINDOWS, blind_taps, "has taps that see nothing but padding"),
    (
        CANONICALIZE_ATTENTION,
        lambda: written_attention(True, True),
        "is part of an attention that is written otherwise",
    ),
    (
        CANONICALIZE_LANGUAGE,
        lambda: written_attention(False, True),
        "is part of an attention that is written otherwise",
    ),
    (native_requantisations(tflite=False), requantised, "and nothing is said of it"),
    (native_requantisations(tflite=True), quantised_add, "and nothing is said of it"),
    (FUNCTIONS_BY_STEPS, test_functions.layer, "that a table of bytes could hold"),
    (CONVOLVE, transposed_convolution, "could be a convolution"),
    (fuse_attention(lambda op, types: True), attention, "ends an attention that one operator could compute"),
    (INT8_TO_UINT8, padded_image, "which could be uint8"),
    (PACK_WEIGHTS, narrow_weights, "has weights of at most 4 bits in bytes"),
    (QUANTISE, quantised_sum, "makes of integers, and no note says why"),
    (ABSORB_TRANSPOSES, transposed_factor, "transposes for products alone"),
    (CHANNELS_SECOND, few_bytes_many_products, "would save "),
    (SHORTEN_CONSTANTS, halves, "has values that float16 holds"),
    (WIDEN_WEIGHTS, short_weights, "is stored in 16 bits, and kernels read 32"),
    (COLLAPSE_TFLITE_ADD, thrice_rounded, "rounds three times"),
    (FUSE_PATTERNS, written_out_sigmoid, "nodes that one Sigmoid could be"),
    (fuse_activations(lambda activation, op: True), activated_product, "is the activation of"),
    (splitting_constants(600), large_constant, "reads a constant of more than 600 bytes"),
    (splitting_sums(large_constant(), {large_constant().outputs[0]: 2}), large_constant, "still adds 16 products"),
    (splitting_steps({recurrent().nodes[0].key: 2}), recurrent, "is not in parts of 2 steps"),
    (copying_operands({joined().nodes[-1].inputs[0]}), joined, "which was to be copied"),
    (FUSE_BIAS, added_bias, "adds the constant"),
    (FOLD_BATCHNORM, normalised_twice, "normalises what"),
    (FOLD_ZERO_POINTS, zero_point, "has the zero point 5"),
    (FUSE_REQUANT, requantised_product, "requantises the totals of"),
    (FUSE_INTEGER_DIV, requantised_division, "requantises what"),
    (TABULATE, function_of_bytes, "which a table could hold"),
    (TABLES_FIRST, tables_of_concats, "looks up what"),
    (DROP_IDENTITIES, identity, "is an Identity that copies nothing"),
    (DROP_ZERO_BIASES, zero_bias, "of nothing but zeros"),
    (FOLD_CONSTANTS, constant, "depends on constants alone"),
    (SEPARATE_OUTPUTS, shared_output, "which is somebody else's"),
    (TRANSPOSE_WEIGHTS, zero_bias, "elements of a constant that are not neighbours"),
    (CHANNELS_LAST, channels_second, "still has channels second"),
    (JOIN_IN_PLACE, shared_operand, "has an operand that is not made for it alone"),
    (SIMPLIFY_TRANSPOSES, chained_transposes, "transposes what "),
]


@pytest.mark.parametrize(("step", "make", "what"), CASES, ids=[step.name for step, _, _ in CASES])
def test_a_pass_that_does_nothing_is_caught(step: Pass, make: Callable[[], Graph], what: str) -> None:
    """What it ensures is no empty word: without its work it does not hold, with its work it does."""
    apply(make(), (step,))
    with pytest.raises(InternalError) as error:
        apply(make(), (replace(step, run=same),))
    assert error.value.where.startswith(f"pass '{step.name}', ")
    assert error.value.what.startswith("what the pass ensures does not hold: ")
    assert what in error.value.what


def test_every_pass_says_what_it_ensures() -> None:
    """Of all that the pipeline and the targets have in their lists."""
    lists = [IMPORT_PASSES, QUANTISING, PASSES, *(targets.find(name).passes for name in targets.names())]
    for step in {step.name: step for each in lists for step in each}.values():
        assert step.ensures is not nothing, step.name


NATIVES = [LOSSLESS, native_requantisations(tflite=False)]


@pytest.mark.parametrize("step", NATIVES, ids=[step.name for step in NATIVES])
def test_totals_that_leave_32_bits_are_caught(step: Pass) -> None:
    """Kernels would compute something else than the reference."""

    def large(graph: Graph) -> Graph:
        (node,) = graph.nodes
        assert isinstance(node.op, MatMul)
        native = replace(node.op, requant=full_range(31, "int8", 0, Rounding.NATIVE))
        constants = {**graph.constants, node.operands()["mul"]: np.array([2**30], np.int32)}
        return replace(graph, nodes=(replace(node, op=native),), constants=constants)

    with pytest.raises(InternalError, match="has totals that leave 32 bits while they are requantised"):
        apply(requantised(), (replace(step, run=large),))


@pytest.mark.parametrize("native", [False, True])
def test_what_is_said_of_a_layer_is_true(native: bool) -> None:
    step = native_requantisations(tflite=False)

    def said(graph: Graph) -> Graph:
        made = graph if native else step.run(graph)
        return replace(made, numerics_records=(NumericsRecord(graph.nodes[0].key, "layer", native, 0.0, 0.0),))

    how = "exactly" if native else "as the hardware does"
    with pytest.raises(InternalError, match=f"requantises {how}, and it is said otherwise"):
        apply(requantised(), (replace(step, run=said),))


REQUIRED = [
    (FUSE_PATTERNS, constant, "depends on constants alone"),
    (fuse_activations(lambda activation, op: True), added_bias, "adds the constant"),
]


@pytest.mark.parametrize(("step", "make", "what"), REQUIRED, ids=[step.name for step, _, _ in REQUIRED])
def test_a_pass_that_comes_too_early_is_caught(step: Pass, make: Callable[[], Graph], what: str) -> None:
    with pytest.raises(InternalError, match="what the pass requires does not hold: ") as error:
        apply(make(), (step,))
    assert what in error.value.what


def test_what_a_pass_requires_is_checked_before_it_runs() -> None:
    with pytest.raises(InternalError) as error:
        apply(shared_output(), (replace(copied_outputs(1000), run=lambda graph: pytest.fail("it ran")),))
    assert error.value.where == "pass 'copy outputs', output 'x'"
    assert error.value.what.startswith("what the pass requires does not hold: has the bytes of 'x'")


def test_a_graph_that_is_not_well_formed_is_the_passes_fault() -> None:
    """The verifier's refusal would send the user to the model."""
    broken = Pass("loses a node", lambda graph: replace(graph, nodes=graph.nodes[1:]))
    with pytest.raises(InternalError, match=r"pass 'loses a node', node .*before anything defines it"):
        apply(identity(), (broken,))


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (lambda graph: replace(graph, output_names=("z",)), "outputs: .* have become z"),
        (lambda graph: replace(graph, inputs=("x", "x")), "inputs: .* x have become x, x"),
        (lambda graph: replace(graph, outputs=graph.inputs), "output '.*: i8.3x2. has become i8.2x3."),
    ],
)
def test_the_interface_of_a_network_stays(run: Callable[[Graph], Graph], what: str) -> None:
    small = Small()
    graph = small.graph(small.add(Transpose((1, 0)), small.input("x", 2, 3)))
    with pytest.raises(InternalError) as error:
        apply(graph, (Pass("changes the interface", run),))
    assert re.search(what, str(error.value)), str(error.value)


def test_a_refusal_of_a_pass_stays_a_refusal() -> None:
    def refuse(graph: Graph) -> Graph:
        raise CompileError("node 'x'", "cannot be done")

    with pytest.raises(CompileError, match="cannot be done"):
        apply(identity(), (Pass("refuses", refuse),))
