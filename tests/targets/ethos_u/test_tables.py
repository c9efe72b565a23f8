"""Functions of one number on the NPU: streams have their tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.ethos_u.functions import ROWS, WIDTH, network
from tilewright import targets
from tilewright.errors import Refusal
from tilewright.ir.evaluate import evaluate, evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops._ethosu import EthosU
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import apply
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.ethos_u.parts import ethos_u_parts
from tilewright.targets.ethos_u.tables import Rectifier, words_of

REASON = "pip install 'tilewright[ethos-u]'"
NPU, STEP = "ethos-u55-128", 1


def given(seed: int = 3) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).integers(-128, 128, (1, ROWS, WIDTH)).astype(np.int8)}


def test_functions_of_words_stay_within_a_step() -> None:
    graph = network()
    values = evaluate(graph, given())
    for node in apply(graph, (ETHOS_U_NUMERICS,)).nodes:
        if isinstance(node.op, QLinearFunction):
            assert node.op.requant.dtype == "int16"
    found = evaluate(apply(graph, (ETHOS_U_NUMERICS,)), given())
    first = next(node.key for node in graph.nodes if isinstance(node.op, QLinearFunction))
    assert np.ptp(values[first].astype(int)) > 100
    assert np.abs(values[first].astype(int) - found[first].astype(int)).max() <= STEP


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256"])
def test_streams_have_the_functions(npu: str) -> None:
    """All of the network is one stream, with the reference's results."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = apply(network(), (ETHOS_U_NUMERICS,))
    made = apply(graph, ethos_u_parts(npu))
    assert [type(node.op) for node in made.nodes if not node.op.view] == [EthosU], made.notes
    (wanted,) = evaluate_outputs(graph, given(4)).values()
    (found,) = evaluate_outputs(made, given(4)).values()
    assert np.array_equal(found, wanted)
    assert np.ptp(wanted.astype(int)) > 50


@pytest.mark.in_turns(3)
def test_files_with_other_tables_are_other_files() -> None:
    """Streams are kept by the file that they were made of."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = apply(network(), (ETHOS_U_NUMERICS,))
    for name, values in graph.constants.items():
        if values.shape == (256,):
            other = replace(graph, constants={**graph.constants, name: np.flip(values).copy()})
    (wanted,) = evaluate_outputs(other, given(4)).values()
    (found,) = evaluate_outputs(apply(other, ethos_u_parts(NPU)), given(4)).values()
    assert np.array_equal(found, wanted)


def test_rectifiers_differ() -> None:
    made = [Rectifier((0.5, 3), (0.5, -20), number).entries().tobytes() for number in range(100)]
    assert len(set(made)) == len(made)


def test_steep_tables_are_refused() -> None:
    table = np.zeros(513, np.int32)
    table[1] = 2**15
    with pytest.raises(Refusal, match="512 numbers and slopes of 16 bits"):
        words_of(table)


def turned() -> Graph:
    """Axes that Vela turns in hundreds of operations, behind a function."""
    builder = Builder("turned")
    x = builder.input("x", TensorType("int8", (1, ROWS, WIDTH)))
    table = builder.constant(np.arange(-128, 128).astype(np.int8)[::-1].copy(), "table")
    (y,) = builder(Lookup(), [x, table])
    (y,) = builder(Reshape((1, ROWS, 2, 2, WIDTH // 4)), [y])
    (y,) = builder(Transpose((2, 0, 3, 1, 4)), [y])
    builder.output(y)
    return builder.build()


@pytest.mark.in_turns(5)
def test_the_core_does_what_it_does_sooner() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    made = apply(turned(), ethos_u_parts(NPU, targets.find("cortex-m33")))
    assert [node.op.kind for node in made.nodes if not node.op.view] == ["EthosU", "Transpose"]
    assert any("stays on the core: the NPU would take" in note for note in made.notes)
    alone = apply(turned(), ethos_u_parts(NPU))
    assert [node.op.kind for node in alone.nodes if not node.op.view] == ["EthosU"]
    given_bytes = given()
    results = [next(iter(evaluate_outputs(one, given_bytes).values())) for one in (turned(), made, alone)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
