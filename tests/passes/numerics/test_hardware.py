"""--numerics: what is replaced by default and what on demand, on which target; all engines then agree to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

import tilewright as tw
from tests.passes.quantise.test_rules import agree
from tests.passes.small import Small, feeds_of, integers
from tests.support.checks import check_graph
from tests.support.models import model, node
from tests.support.quantiser import Feeds, Style, quantise, run_onnxruntime
from tilewright import pipeline
from tilewright.errors import CompileError, instance
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import factors
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.settings import Settings

RANDOM = np.random.default_rng(11)


def network() -> tuple[ModelProto, Feeds]:
    """Two convolutions, the second depthwise over the edges of a rectified image."""
    weights = [(RANDOM.standard_normal(shape) * 0.3).astype(np.float32) for shape in ((16, 3, 3, 3), (16, 1, 3, 3))]
    nodes = [
        node("Conv", "x w0", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "b"),
        node("Conv", "b w1", "c", pads=[1, 1, 1, 1], group=16), node("Relu", "c", "y"),
    ]  # fmt: skip
    feeds = {"x": RANDOM.standard_normal((1, 3, 12, 12)).astype(np.float32)}
    plain = model(nodes, {"x": (1, 3, 12, 12)}, ["y"], {"w0": weights[0], "w1": weights[1]})
    return quantise(plain, feeds, Style(skip=("a", "c"))), feeds


def roundings(graph: Graph) -> set[str]:
    return {n.op.requant.rounding for n in graph.nodes if isinstance(n.op, Conv | MatMul) and n.op.requant is not None}


def quantised(graph: Graph, target: str, numerics: str) -> Graph:
    return instance(pipeline.stage(graph, target, "quantised", settings=Settings(numerics=numerics)), Graph)


def tflite_graph() -> Graph:
    small = Small()
    mul, exponents = factors(np.array([0.002, 0.003]), "double")
    op = Conv(requant=Requant(0, "int8", -128, 127, -3, "double"))
    assert exponents is not None
    operands = [small.constant(integers("int8", 2, 4, 1, 1)), "", small.constant(mul), small.constant(exponents)]
    return small.graph(small.add(op, small.input("x", 1, 4, 5, 5), *operands))


@pytest.mark.parametrize(
    ("target", "numerics", "wanted"),
    [
        ("generic", "", "half_even"), ("generic", "hardware", Rounding.NATIVE), ("siracusa", "", Rounding.NATIVE),
        ("siracusa", "exact", "half_even"), ("siracusa", "hardware", Rounding.NATIVE),
    ],
)  # fmt: skip
def test_open_roundings(target: str, numerics: str, wanted: str) -> None:
    graph = pipeline.import_model(network()[0])
    assert roundings(quantised(graph, target, numerics)) == {wanted}


@pytest.mark.parametrize(("numerics", "wanted"), [("", "double"), ("exact", "double"), ("hardware", Rounding.NATIVE)])
def test_a_runtimes_bits_are_kept_unless_asked(numerics: str, wanted: str) -> None:
    assert roundings(quantised(tflite_graph(), "siracusa", numerics)) == {wanted}


def test_the_reference_does_not_depend_on_the_target() -> None:
    graph = pipeline.import_model(network()[0])
    texts = {str(quantised(graph, target, "hardware")) for target in ("generic", "siracusa", "quad")}
    assert len(texts) == 1


def test_integers_of_the_dialect_stay_as_they_are() -> None:
    small = Small()
    conv = small.add(Conv(), small.input("x", 1, 4, 5, 5), small.constant(integers("int8", 8, 4, 1, 1)))
    graph = small.graph(small.requant(conv, axis=1))
    assert str(quantised(graph, "siracusa", "hardware")) == str(quantised(graph, "siracusa", "exact"))


def test_agreement_with_onnxruntime() -> None:
    proto, feeds = network()
    found, wanted = (
        evaluate(quantised(pipeline.import_model(proto), "siracusa", ""), feeds),
        run_onnxruntime(proto, feeds),
    )
    for name in set(found) & set(wanted):
        if found[name].dtype.name == "int8":
            agree(name, found[name], wanted[name])


@pytest.mark.in_turns(3)
def test_portable_c_agrees() -> None:
    proto, feeds = network()
    check_graph(quantised(pipeline.import_model(proto), "generic", "hardware"), feeds, tolerance=0)
    graph = tflite_graph()
    check_graph(quantised(graph, "generic", "hardware"), feeds_of(graph), tolerance=0)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("engines", [(), ("cluster",)])
def test_engines_agree(engines: tuple[str, ...]) -> None:
    proto, feeds = network()
    program = tw.compile(proto, target="siracusa", settings=Settings(engines=engines, time_limit=1.0))
    assert program.check(feeds).agrees
    found = program.analysis.as_dict()["numerics"]
    assert [one["native"] for one in found] == [True, True]
    assert all(0 <= one["expected"] <= 0.0075 for one in found)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("dtype", "rounding"), [("int8", "half_up"), ("int16", "half_even")])
def test_sums_of_many_products_are_clipped_first(dtype: str, rounding: str) -> None:
    """So many that 32 bits leave a factor few of its own; results of 16 bits stay exact."""
    small = Small()
    weights = small.constant(np.full((2, 512, 1, 1), 127, np.int8))
    mul = np.array([2**20 + 2048, 2**20 - 2048], np.int32)
    op = Conv(requant=full_range(32, dtype, 0, "half_even"))
    x = small.input("x", 1, 512, 2, 2)
    graph = small.graph(small.add(op, x, weights, "", small.constant(mul)))
    made = quantised(graph, "generic", "hardware")
    assert roundings(made) == {rounding}
    assert [one.native for one in made.numerics_records] == [dtype == "int8"]
    assert made.numerics_records[0].expected <= 0.0075
    check_graph(made, feeds_of(graph), tolerance=0)


def test_unknown_numerics() -> None:
    with pytest.raises(CompileError, match="numerics approximate"):
        quantised(tflite_graph(), "generic", "approximate")
