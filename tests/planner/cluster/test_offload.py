"""Layers on the NPU: chosen with reasons, overlapping with the cores, checked, and the same results as without it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.planner.networks import branches, gates, large_windows, windows
from tests.planner.planning import Prepared, interpreted, prepared
from tests.support import dialect
from tests.support.command import Command
from tests.support.models import model, node
from tests.support.quantiser import quantise
from tilewright.errors import CompileError, InternalError
from tilewright.planner.check.plan import check_plan
from tilewright.planner.cluster.plan import Plan
from tilewright.target.settings import Settings

MODELS = {"branches": branches, "gates": gates, "windows": windows, "large_windows": large_windows}


@cache
def network(name: str) -> Prepared:
    return prepared(MODELS[name]())


def engines_of(plan: Plan) -> list[str]:
    return [step.option.engine for step in plan.steps]


def in_flight(plan: Plan) -> list[int]:
    return [number for number, step in enumerate(plan.steps) if step.in_flight]


LITTLE_L1, STREAMED = Settings(l1=6_000), Settings(weight_memory=False)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("branches", [LITTLE_L1]),
        ("gates", [LITTLE_L1, STREAMED]),
        ("windows", [STREAMED]),
        ("large_windows", [STREAMED, LITTLE_L1]),
    ],
)
def test_with_and_without_the_npu(name: str, others: list[Settings]) -> None:
    model = MODELS[name]()
    kinds = [Settings(), Settings(engines=("cluster",)), *others]
    programs = [tw.compile(model, target="siracusa", settings=settings) for settings in kinds]
    inputs = programs[0].random_inputs()
    results = [program.run(inputs) for program in programs]
    for result in results[1:]:
        assert all((result.outputs[name] == results[0].outputs[name]).all() for name in result.outputs)
    assert results[0].cycles < results[1].cycles
    used = [{step.option.engine for step in program.plan.steps} for program in programs]
    assert used[1] == {"cluster"}
    streamed = [engines for kind, engines in zip(kinds, used, strict=True) if kind == STREAMED]
    assert all(engines == {"cluster", "neureka"} for engines in (used[0], *streamed))


@pytest.mark.in_turns(3)
def test_weights_live_in_their_memory_or_are_streamed() -> None:
    with_it, without = (network("windows").plan(Settings(weight_memory=on)) for on in (True, False))
    assert ("constant", "WMEM") in {(home.kind, home.memory) for home in with_it.homes.values()}
    assert ("constant", "WMEM") not in {(home.kind, home.memory) for home in without.homes.values()}
    assert any(step.option.weights for step in with_it.steps)


def test_the_npu_goes_on_while_cores_work() -> None:
    plan = network("gates").plan(Settings())
    longer = in_flight(plan)
    assert longer, "nothing is left to the NPU"
    busy = [
        later.option.engine
        for number in longer
        for later in plan.steps[number + 1 : number + 1 + plan.steps[number].in_flight]
    ]
    assert "cluster" in busy, "cores compute nothing meanwhile"
    taken = [step for number in range(len(plan.steps) + 1) for step in plan.waited_before(number)]
    assert sorted(taken) == longer


def test_nobody_may_touch_what_the_npu_has() -> None:
    plan = network("gates").plan(Settings())
    number = in_flight(plan)[0]
    steps = list(plan.steps)
    steps[number] = replace(steps[number], in_flight=len(steps) - number - 1)
    with pytest.raises(InternalError, match="does not wait for"):
        check_plan(replace(plan, steps=tuple(steps)))
    steps[number] = replace(plan.steps[number], in_flight=0)
    reader = next(n for n, step in enumerate(plan.steps) if step.option.engine == "cluster")
    steps[reader] = replace(steps[reader], in_flight=1)
    with pytest.raises(InternalError, match="cannot stay in flight while later layers run"):
        check_plan(replace(plan, steps=tuple(steps)))


def test_numpy_computes_what_was_submitted_late() -> None:
    """Waited for too late, a result is not there yet: the interpretation goes wrong, unless a wait for a later job is
    one for this too."""
    one = network("gates")
    plan, feeds = one.plan(Settings(engines=("cluster", "neureka"))), one.inputs()
    good = interpreted(plan, feeds)
    bad = [interpreted(never_waited_for(plan, number), feeds) for number in range(len(plan.steps) - 1)]
    assert any((good[name] != found[name]).any() for found in bad for name in good)


def never_waited_for(plan: Plan, number: int) -> Plan:
    """The plan with an accelerator that is left at work until the end."""
    steps = list(plan.steps)
    if steps[number].option.mode == "offload":
        steps[number] = replace(steps[number], in_flight=len(steps) - number - 1)
    return replace(plan, steps=tuple(steps))


@pytest.mark.in_turns(3)
def test_the_next_tile_is_gathered_elsewhere_while_the_npu_reads_this_one() -> None:
    settings = Settings(buffering="double", l1=48_000)
    program = tw.compile(large_windows(), target="siracusa", settings=settings)
    number, step = next((n, s) for n, s in enumerate(program.plan.steps) if s.option.engine == "neureka")
    assert step.option.grid.tiles > 1
    assert step.option.double
    assert not step.option.kernel.has_epilogue
    assert program.check().first_difference is None
    steps = list(program.plan.steps)
    steps[number] = replace(step, option=replace(step.option, scratch=step.option.scratch // 2))
    with pytest.raises(InternalError, match="bytes of working memory"):
        check_plan(replace(program.plan, steps=tuple(steps)))


def test_a_node_is_placed_where_it_is_asked_to_be() -> None:
    one = network("branches")
    free = one.plan(Settings())
    chosen = next(step.option.node.name for step in free.steps if step.option.engine == "neureka")
    placed = one.plan(Settings(placed=((chosen, "cluster"),)))
    assert {step.option.node.name: step.option.engine for step in placed.steps}[chosen] == "cluster"
    assert engines_of(placed).count("neureka") == engines_of(free).count("neureka") - 1


GATHERED = Settings(3, placed=(("Conv t0", "neureka"), ("Conv t2", "neureka")))


@cache
def two_gathered() -> Prepared:
    made = dialect.Model(7, {"x": np.arange(3 * 7 * 7).reshape(1, 3, 7, 7) % 256 - 128})
    first = made.requant(made.conv("x", 5, 5, 1), (5, 1, 1))
    return prepared(made.proto(made.requant(made.conv(first, 4, 5, 1), (4, 1, 1))))


def test_stacks_make_room_for_a_node_that_has_its_place() -> None:
    assert two_gathered().plan(replace(GATHERED, l1=5_000))


@pytest.mark.in_turns(5)
def test_no_more_is_asked_for_than_is_known_to_be_enough() -> None:
    nodes = [node("Conv", "x w", "y", name="y", pads=[1, 1, 1, 1], group=40, strides=[2, 2])]
    weights = np.linspace(-1, 1, 360, dtype=np.float32).reshape(40, 1, 3, 3)
    plain = model(nodes, {"x": (2, 40, 27, 25)}, ["y"], {"w": weights})
    sample = np.linspace(-2, 2, 54_000, dtype=np.float32).reshape(2, 40, 27, 25)
    one, settings = prepared(quantise(plain, {"x": sample})), Settings(placed=(("y", "neureka"),), buffering="single")
    assert one.plan(replace(settings, l1=32_000))
    with pytest.raises(CompileError) as refused:
        one.plan(replace(settings, l1=16_000))
    assert int(refused.value.hint.split()[-1]) <= 32_000


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("l1", [1_800, 2_000, 2_700])
def test_what_is_said_to_be_missing_is_enough(l1: int) -> None:
    with pytest.raises(CompileError, match=r": [1-9]\d* are missing") as refused:
        two_gathered().plan(replace(GATHERED, l1=l1))
    two_gathered().plan(replace(GATHERED, l1=int(refused.value.hint.split()[-1])))


@pytest.mark.parametrize(
    ("options", "where", "what"),
    [
        ("--place nobody=cluster", "--place nobody", "no node of the lowered graph has this name"),
        ("--place a=npu", "--place a=npu", "is not an engine of siracusa"),
        ("--place a", "--place a", "is not NAME=VALUE"),
        ("--place a=neureka --place a=cluster", "--place a=cluster", "contradicts --place a=neureka"),
        ("--engines neureka", "--engines neureka", "an accelerator cannot compute every operator"),
        ("--weight-memory perhaps", "--weight-memory perhaps", "is unknown"),
    ],
)
def test_wrong_options(options: str, where: str, what: str, command: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(branches(), path)
    ran = command("analyze", path, "--target", "siracusa", "--json", *options.split())
    assert ran.code == 2
    assert (where, what) in [(error["where"], error["what"]) for error in ran.json["errors"]]


def test_reasons(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(branches(), path)
    ran = command("analyze", path, "--target", "siracusa", "--json", "--explain")
    found = ran.json["explanations"]
    for one in found:
        own = next(candidate for candidate in one["candidates"] if candidate["engine"] == one["engine"])
        assert own["kernel"]
        assert own["cycles"] > 0
        assert not own["refusal"]
        assert one["why"]
        for other in one["candidates"]:
            assert bool(other["refusal"]) == (other["cycles"] is None)
    products = [one for one in found if one["operator"] == "MatMul"]
    assert {one["engine"] for one in products} == {"neureka"}
    assert any(one["engine"] == "cluster" for one in found)
    monkeypatch.setenv("COLUMNS", "200")
    shown = command("analyze", path, "--target", "siracusa", "--explain")
    assert "cycles faster than cluster" in shown.out
    monkeypatch.setenv("COLUMNS", "80")
    narrow = command("analyze", path, "--target", "siracusa", "--explain").out
    assert max(map(len, narrow.splitlines())) <= 80
    kernels = {
        f"{one['engine']}.{own['kernel']}"
        for one in found
        for own in one["candidates"]
        if own["engine"] == one["engine"]
    }
    assert all(f" {kernel} " in narrow for kernel in kernels), "no name is broken"
    assert " [1] N-EUREKA computes convolutions, products" in shown.out
