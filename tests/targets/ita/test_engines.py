"""Target snitch with ITA: which engines are used, what they compute on the virtual SoC, and what they cannot."""

from __future__ import annotations

import re

import pytest

from tests.support.models import model, node
from tests.targets.ita.transformers import attention_model, encoder_model, feed_forward_model, linear_model
from tilewright import targets
from tilewright.errors import CompileError
from tilewright.pipeline import import_model, stage
from tilewright.program import compile_model
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings


@pytest.mark.in_turns(5)
def test_an_encoder_agrees_and_breaks_no_rule() -> None:
    """In a TCDM that holds not all of it: layers come in parts, everywhere at multiples of what ITA reads."""
    settings = Settings(engines=("all",), numerics="hardware", memories=(("tcdm", 80_000),), time_limit=1.0)
    program = compile_model(encoder_model(64, 128, 2, 64, 192), target="snitch", settings=settings)
    checked = program.check()
    assert checked.first_difference is None
    done = checked.result.soc
    assert done is not None
    jobs = 3 * 4 + 2 * 2 + 4 + 2 * 6 + 2 * 2 * 2
    assert done.report.busy["ita"] >= 256 * jobs
    simulator = Simulator("snitch")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
    simulator.load(read_elf(program.build_soc().build(program.random_inputs())))
    assert re.match(r"cycles \d+\noutput 0 fnv1a [0-9a-f]+\n$", simulator.run(100_000_000).stdout)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("engines", ["ita", "cluster"])
def test_an_attention_is_the_same_on_both(engines: str) -> None:
    """What a network computes does not depend on who computes it."""
    settings = Settings(engines=(engines,), numerics="hardware", time_limit=1.0)
    program = compile_model(attention_model(64, 64, 1, 64), target="snitch", settings=settings)
    checked = program.check()
    assert checked.first_difference is None
    done = checked.result.soc
    assert done is not None
    assert (done.report.busy["ita"] > 0) == (engines == "ita")


# ---- errors ----


def mapped(network: object, *engines: str, numerics: str = "hardware") -> object:
    return stage(import_model(network), "snitch", "mapped", settings=Settings(engines=engines, numerics=numerics))


@pytest.mark.fast
def test_an_unknown_engine() -> None:
    said = "engine 'npu': is not an engine of snitch\n  hint: its engines: cluster, ita"
    with pytest.raises(CompileError, match=said):
        mapped(linear_model(), "npu")


@pytest.mark.fast
def test_a_network_without_a_part_for_ita() -> None:
    network = model([node("Relu", "x", "y")], {"x": (4, 8)}, ["y"], {})
    with pytest.raises(
        CompileError, match=r"Relu.*ITA computes matrix products, additions and attention only"
    ) as raised:
        mapped(network, "ita")
    assert "add an engine with cores" in str(raised.value)
    mapped(network, "all")


@pytest.mark.fast
def test_reasons_of_ita_are_said() -> None:
    with pytest.raises(CompileError, match="its rounding is half_even, only half_up, native is possible"):
        mapped(linear_model(), "ita", numerics="exact")


@pytest.mark.fast
def test_buffers_begin_where_ita_reads_them_if_it_is_used() -> None:
    found = {
        engines: stage(
            import_model(linear_model()), "snitch", "tiled", settings=Settings(engines=engines, numerics="hardware")
        ).memories.tiles.placement
        for engines in (("cluster",), ("all",))
    }
    assert found == {("cluster",): 8, ("all",): 128}
    assert targets.find("snitch").paths.tiles.placement == 8


def test_what_ita_cannot_have_stays_exact() -> None:
    """Keys that fill no tile: the attention, and its softmax, are the network's."""
    found = mapped(attention_model(40, 64, 1, 64), "all")
    kinds = [node.op.kind for node in found.graph.nodes]  # type: ignore[attr-defined]
    assert "QLinearSoftmax" in kinds
    assert "ItaLinear" in kinds


@pytest.mark.fast
def test_without_a_part_for_ita_nothing_is_aligned_for_it() -> None:
    network = model([node("Relu", "x", "y")], {"x": (4, 8)}, ["y"], {})
    assert stage(import_model(network), "snitch", "tiled").memories.tiles.placement == 8


@pytest.mark.in_turns(3)
def test_a_feed_forward_agrees() -> None:
    """With ITA's GELU in its first product; the second, which is too long for the TCDM that is left, comes in parts."""
    settings = Settings(engines=("ita",), numerics="hardware", memories=(("tcdm", 60_000),), time_limit=1.0)
    program = compile_model(feed_forward_model(64, 320), target="snitch", settings=settings)
    assert program.check().first_difference is None
