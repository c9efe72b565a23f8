"""Quantised networks for a core with an NPU: numerics, parts as files, and with Vela the streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from onnx import ModelProto

from tests.support.example_networks import keyword_spotting
from tests.support.models import residual
from tests.support.networks import those_there
from tests.support.stand_ins import Network, given_and_wanted, network_id, onnx_model, quantised_classifier
from tests.targets.ethos_u.drawn_networks import drawn, inputs_of
from tilewright import pipeline
from tilewright.errors import CompileError, Refusal
from tilewright.frontends.tflite import importer
from tilewright.ir.evaluate import evaluate, evaluate_outputs
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, TensorType
from tilewright.ir.unused import drop_unused
from tilewright.ops._ethosu import EthosU
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.passes import FEW, apply
from tilewright.program import compile_model
from tilewright.target.settings import GOALS, Settings
from tilewright.targets.ethos_u import parts
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS, MOST_OFF_WIDE
from tilewright.targets.ethos_u.parts import ethos_u_parts
from tilewright.targets.ethos_u.scales import meaning_of
from tilewright.targets.ethos_u.vela import MadeByVela, VelaError
from tilewright.targets.ethos_u.writing import RULES, written, zero_of_bytes

REASON = "pip install 'tilewright[ethos-u]'"
NPU, TARGET = "ethos-u55-128", "cortex-m33+u55-128"
TO_LAYOUT, TO_PARTS = ethos_u_parts(NPU)


DOUBLE = Requant(0, "int8", -128, 127, 0, Rounding.DOUBLE)
ROWS = 100
"""Seeds from here on are of networks whose images are rows."""
ROUNDED_TWICE = 0.7501
"""Steps from the real number: a quarter by the first rounding, and a half by the second; factors have 24 bits. Means of
few elements have so large a factor: up to a quarter of them differ, and all at once where elements are alike."""


def mean(node: Node, values: Mapping[str, Array]) -> Array | None:
    """Of a whole image or of windows side by side, in real numbers within the range of the result; None of others."""
    op = node.op
    if not isinstance(op, QLinearReduceMean | QLinearAveragePool):
        return None
    given = values[node.inputs[0]].astype(float) - op.x_zero
    if isinstance(op, QLinearReduceMean):
        means = given.mean(op.axes, keepdims=op.keepdims)
    else:
        axes = tuple(range(-len(op.kernel), 0))
        means = sliding_window_view(given, op.kernel, axes).mean(axes)
    return np.clip(means * op.mul * 2.0**-op.requant.shift + op.requant.zero_point, op.requant.low, op.requant.high)


def network(seed: int) -> Graph:
    return drawn(seed, axes=1 if seed >= ROWS else 2)


def reference(seed: int) -> Graph:
    """As the NPU computes it, with channels last."""
    return apply(network(seed), (ETHOS_U_NUMERICS, TO_LAYOUT))


@pytest.mark.parametrize("seed", [*range(12), *range(ROWS, ROWS + 4)])
def test_numbers_stay_within_a_step(seed: int) -> None:
    """Each result of a network, from what it is computed of there."""
    given = network(seed)
    found = apply(given, (ETHOS_U_NUMERICS,))
    values = evaluate(given, inputs_of(given, np.random.default_rng(seed)))
    for node in found.nodes:
        if node.key in values and all(name in values or name in found.constants for name in node.inputs):
            (ours,) = (node.op.numpy(*(values.get(name, found.constants.get(name)) for name in node.inputs)),)
            off = np.abs(ours.astype(int) - values[node.key].astype(int))
            assert off.max() <= 1, node.where
            if (real := mean(given.producers[node.key], values)) is not None:
                assert np.abs(ours - real).max() <= ROUNDED_TWICE, node.where
                continue
            assert (off > 0).sum() <= max(FEW, off.size * (1 / 16 if ours.dtype == np.int8 else MOST_OFF_WIDE)), (
                node.where
            )


@pytest.mark.parametrize("seed", [*range(12), *range(ROWS, ROWS + 4)])
def test_results_keep_their_names(seed: int) -> None:
    """Whatever becomes a layer: each is held to the network by itself, and none for what is off before it."""
    given = drop_unused(network(seed))
    assert {node.key for node in given.nodes} <= apply(given, (ETHOS_U_NUMERICS,)).types.keys()


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", [*range(12), *range(ROWS, ROWS + 4)])
def test_files_say_what_nodes_compute(seed: int) -> None:
    """What our own reader makes of the file of each node."""
    graph = reference(seed)
    meaning, values = meaning_of(graph), evaluate(graph, inputs_of(graph, np.random.default_rng(seed)))
    assert {type(node.op) for node in graph.nodes if isinstance(node.op, Conv | MatMul)} <= set(RULES)
    taken = 0
    for node in graph.nodes:
        if isinstance(node.op, Conv | MatMul):
            assert node.op.requant is not None
            assert node.op.requant.rounding == Rounding.DOUBLE, node.where
        if type(node.op) not in RULES or getattr(node.op, "requant", DOUBLE).rounding != Rounding.DOUBLE:
            continue
        taken += 1
        names = [name for name in dict.fromkeys(node.inputs) if name not in graph.constants]
        file = written(graph, meaning, [node], names)
        data = file.file.data([file.known[name] for name in names], [file.known[node.key]])
        read = importer.load(data)
        given = dict(zip(read.inputs, (values[name] for name in names), strict=True))
        (found,) = evaluate_outputs(read, given).values()
        assert np.array_equal(found, values[node.key]), node.where
    assert taken >= 4


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", [*range(3), ROWS, ROWS + 1])
def test_streams_give_what_nodes_give(seed: int) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = reference(seed)
    made = apply(graph, (TO_PARTS,))
    given = inputs_of(graph, np.random.default_rng(seed + 1))
    assert any(isinstance(node.op, EthosU) for node in made.nodes)
    assert not any(isinstance(node.op, Conv | MatMul) for node in made.nodes), made.notes
    for found, wanted in zip(
        evaluate_outputs(made, given).values(), evaluate_outputs(graph, given).values(), strict=True
    ):
        assert np.array_equal(found, wanted)


@pytest.mark.in_turns(3)
def test_what_vela_does_not_compile_stays_on_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a part that it ends on, the nodes that it ends on alone."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    real = parts.compiled_by_vela

    def without_pools(npu: str, data: bytes, stem: str, goal: str) -> MadeByVela:
        if any(isinstance(node.op, MaxPool) for node in importer.load(data).nodes):
            raise VelaError(f"model '{stem}'", "Vela does not compile it: assertion", "choose the core alone")
        return real(npu, data, stem, goal)

    builder = Builder("pooled")
    x = builder.input("x", TensorType("int8", (1, 8, 8, 4)))
    requant = Requant(0, "int8", -128, 127, 3, Rounding.DOUBLE)
    constants = [
        np.ones((4, 1, 1, 4), np.int8),
        np.zeros(4, np.int32),
        np.full(4, 2**30, np.int32),
        np.zeros(4, np.int32),
    ]
    names = [builder.constant(one, "constant") for one in constants]
    (made,) = builder(Conv(channels_last=True, requant=requant), [x, *names])
    (made,) = builder(MaxPool((2, 2), kernel=(2, 2), channels_last=True), [made])
    builder.output(made)
    monkeypatch.setattr(parts, "compiled_by_vela", without_pools)
    found = apply(builder.build(), (TO_PARTS,))
    assert [node.op.kind for node in found.nodes] == ["EthosU", "MaxPool"]


TRAINED = those_there(*(f"qdq/{name}/int8.onnx" for name in ("dscnn_kws", "resnet8_cifar", "toyadmos_ae")))


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("network", [quantised_classifier, *TRAINED], ids=network_id)
def test_quantised_network(network: Network) -> None:
    """All layers are streams; the program gives what the reference does, which is near what ONNX Runtime gives."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    given, (wanted,) = given_and_wanted(network)
    made = compile_model(onnx_model(network), target=TARGET)
    assert not any(isinstance(node.op, Conv | MatMul) for node in made.compiled.lowered.nodes)
    ((output, values),) = made.run(given).outputs.items()
    assert np.array_equal(values, made.reference(given)[output])
    assert np.abs(values - wanted).max() <= np.ptp(wanted) / 100


@pytest.mark.parametrize(
    ("model", "settings", "why"),
    [
        (
            keyword_spotting,
            Settings(numerics="exact"),
            "its results are rounded half_even, an Ethos-U rounds as TensorFlow Lite",
        ),
        (residual, Settings(), "its input is float32; only int8 goes to the NPU"),
    ],
    ids=["exact", "float"],
)
def test_networks_that_the_npu_computes_nothing_of(
    model: Callable[[], ModelProto], settings: Settings, why: str
) -> None:
    graph = pipeline.import_model(model())
    with pytest.raises(CompileError, match=r"ethos-u55-128 computes none of its \d+ layers") as raised:
        pipeline.stage(graph, TARGET, "lowered", settings=settings)
    assert why in raised.value.what
    assert "tilewright quantise" in raised.value.hint


def test_weights_are_bytes_without_a_zero_point_or_with_one_for_all() -> None:
    assert zero_of_bytes(np.array([[-128, 127]]), 5) == 0
    assert zero_of_bytes(np.array([[-255, 0]]), 127) == 127
    with pytest.raises(
        Refusal, match=r"go from -200 to 100 without their zero points; only int8 with one zero point for all"
    ):
        zero_of_bytes(np.array([[-200], [100]]), 0)


@pytest.mark.in_turns(3)
def test_a_part_that_is_wrong_as_a_whole_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its nodes is right alone: none is left to the core."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    agrees, most = parts._agrees, 3

    def faults(graph: Graph, part: parts.Part, made: parts.Made) -> bool:
        if len(part.nodes) > most:
            raise CompileError("a stream", "writes to nowhere", "none")
        return agrees(graph, part, made)

    monkeypatch.setattr(parts, "_agrees", faults)
    monkeypatch.setattr(MadeByVela, "is_checked", lambda made: False)
    graph = apply(drawn(3, 8), [ETHOS_U_NUMERICS, TO_LAYOUT])
    made = apply(graph, [TO_PARTS])
    assert {node.op.kind for node in made.nodes if made.macs(node)} == {"EthosU"}
    assert sum(isinstance(node.op, EthosU) for node in made.nodes) > 1
    given = inputs_of(graph, np.random.default_rng(5))
    for name, wanted in evaluate_outputs(graph, given).items():
        assert np.array_equal(evaluate_outputs(made, given)[name], wanted)


@pytest.mark.in_turns(5)
def test_little_ram_is_a_goal() -> None:
    """Layers strip by strip, with the same results."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    builder, draws = Builder("deep"), np.random.default_rng(9)
    found = builder.input("x", TensorType("int8", (1, 24, 24, 4)))
    requant = Requant(0, "int8", -128, 127, 0, Rounding.DOUBLE)
    for before, filters in ((4, 24), (24, 24), (24, 4)):
        values = draws.integers(-100, 100, (filters, 3, 3, before), np.int8)
        factors = (np.zeros(filters), np.full(filters, 2**30), np.full(filters, -12))
        names = [builder.constant(one) for one in (values, *(one.astype(np.int32) for one in factors))]
        (found,) = builder(Conv(padding=(1, 1, 1, 1), channels_last=True, requant=requant), [found, *names])
    builder.output(found)
    made = [apply(builder.build(), ethos_u_parts(NPU, goal=goal)) for goal in GOALS]
    arenas = [sum(node.op.arena for node in graph.nodes if isinstance(node.op, EthosU)) for graph in made]
    assert arenas[1] < 0.8 * arenas[0]
    given = {"x": draws.integers(-128, 128, (1, 24, 24, 4), np.int8)}
    results = [next(iter(evaluate_outputs(graph, given).values())) for graph in made]
    assert np.array_equal(*results)
