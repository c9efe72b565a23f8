"""A profile accounts for every cycle of a run, and changes none."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import residual
from tilewright.profiling.lines import tile_lines
from tilewright.profiling.measuring import Profiled
from tilewright.profiling.memory_map import memory_maps
from tilewright.profiling.profile import Interval, Moved
from tilewright.program import Program, compile_model
from tilewright.report.memory_map import svg
from tilewright.target.settings import Settings

SETTINGS = (Settings(), Settings(l1=9000), Settings(cores=1), Settings(l1=12000, buffering="double", home="L3"))
LINE = re.compile(
    r"\[(?P<layer>.+) (L1|L2|L3)\]\[(DB|SB)\]\[\d+ ops\]\[Tile \d+\] Input DMA took \d+ cycles \| "
    r"Kernel took \d+ cycles \| Output DMA took \d+ cycles"
)


@cache
def profiled(settings: Settings) -> tuple[Program, Profiled]:
    program = compile_model(residual(), target="siracusa", settings=settings)
    return program, program.profile()


@pytest.fixture(params=SETTINGS, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[Program, Profiled]:
    return profiled(request.param)


@pytest.mark.in_turns(6)
def test_watching_changes_no_cycle(case: tuple[Program, Profiled]) -> None:
    program, found = case
    assert found.profile.cycles == program.run(program.random_inputs()).cycles


def test_layers_are_all_of_the_time(case: tuple[Program, Profiled]) -> None:
    program, found = case
    layers = found.profile.layers
    assert len(layers) == len(program.plan.steps)
    assert sum(layer.cycles for layer in layers) == found.profile.cycles
    assert all(before.time.end == after.time.start for before, after in itertools.pairwise(layers))
    assert min(layer.cycles for layer in layers) > 0


@pytest.mark.in_turns(3)
def test_layers_are_all_of_the_energy(case: tuple[Program, Profiled]) -> None:
    """Femtojoule by femtojoule, of every component; and a run that is not watched spends the same."""
    program, found = case
    total, layers = found.profile.energy, [layer.energy for layer in found.profile.layers]
    assert total is not None
    assert total == program.run(program.random_inputs()).energy
    for component, spent in total.spent.items():
        assert sum(energy.spent[component] for energy in layers if energy) == spent
    assert min(energy.femtojoules for energy in layers if energy) > 0
    assert total.spent["cores"] > 0
    assert total.spent["DMA"] > 0
    assert 0 < total.uncertainty < 1


def test_longer_layers_take_more_static_energy(case: tuple[Program, Profiled]) -> None:
    _, found = case
    first, *others = found.profile.layers
    for layer in others:
        assert layer.energy is not None
        assert first.energy is not None
        # The call's own instructions are in the cycles of the last layer, and in nobody's energy.
        if abs(layer.cycles - first.cycles) > 100:
            assert (layer.energy.spent["static"] > first.energy.spent["static"]) == (layer.cycles > first.cycles)


def test_tiles_are_those_of_the_plan(case: tuple[Program, Profiled]) -> None:
    program, found = case
    for layer, step in zip(found.profile.layers, program.plan.steps, strict=True):
        assert [tile.number for tile in layer.tiles] == list(range(step.option.grid.tiles))
        assert all(tile.kernel.cycles > 0 for tile in layer.tiles)
        # The last cores of a layer may still be at it when the first ones begin the next.
        assert all(layer.time.start - 100 < tile.kernel.start < layer.time.end for tile in layer.tiles)


def test_bytes_are_those_of_the_plan(case: tuple[Program, Profiled]) -> None:
    """What is streamed out once is as large as the tensor; what is streamed in comes at least once."""
    program, found = case
    types = program.plan.mapped.graph.types
    for layer, step in zip(found.profile.layers, program.plan.steps, strict=True):
        streamed = [operand for operand in step.option.operands if operand.streamed]
        assert layer.bytes_out == sum(types[o.tensor].bytes for o in streamed if o.is_result)
        assert layer.bytes_in >= sum(types[o.tensor].bytes for o in streamed if not o.is_result and not o.period)


def test_cycles_of_cores_are_executed_or_stalled(case: tuple[Program, Profiled]) -> None:
    _, found = case
    for layer in found.profile.layers:
        assert 0 <= layer.waiting <= layer.cycles * found.profile.cores
        assert min(layer.stalls.values()) >= 0
        assert sum(layer.stalls.values()) <= layer.core_time
    total = sum(sum(layer.stalls.values()) for layer in found.profile.layers)
    assert 0 < total < found.profile.cycles * found.profile.cores


def test_a_line_for_every_tile(case: tuple[Program, Profiled]) -> None:
    _, found = case
    lines = list(tile_lines(found.profile))
    assert len(lines) == sum(len(layer.tiles) for layer in found.profile.layers)
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), lines
    assert matches[0] is not None
    assert matches[0]["layer"] == found.profile.layers[0].name


def test_maps_show_everything_once(case: tuple[Program, Profiled]) -> None:
    program, _ = case
    plan = program.plan
    maps = memory_maps(plan)
    l1, l2 = maps[0], maps[1]
    assert len([r for r in l1.regions if r.kind != "runtime"]) == len(plan.tiles_arena.problem.buffers)
    assert len(l2.regions) == len(plan.home_arena.problem.buffers)
    for one in maps:
        assert max((region.end for region in one.regions), default=0) <= one.used <= one.capacity
        for left, right in itertools.combinations(one.regions, 2):
            apart = left.end <= right.offset or right.end <= left.offset
            assert apart or left.last < right.first or right.last < left.first, (left, right)


def test_a_memory_for_what_was_spilled_appears_once() -> None:
    plan = profiled(SETTINGS[1])[0].plan
    crowded = replace(plan, arenas={**plan.arenas, "WMEM": plan.tiles_arena})
    assert [one.memory for one in memory_maps(crowded)] == ["L1", "L2", "WMEM"]


def test_the_picture_names_everything(case: tuple[Program, Profiled]) -> None:
    program, _ = case
    maps = memory_maps(program.plan)
    text = svg(maps, "a <network> & more")
    assert text.count("<title>") == sum(len(one.regions) for one in maps)
    assert "a &lt;network&gt; &amp; more" in text


def test_long_names_below_the_picture_are_numbers(case: tuple[Program, Profiled]) -> None:
    one = memory_maps(case[0].plan)[0]
    long = replace(one, steps=tuple(f"{step} {'deep.' * 6}{step}" for step in range(len(one.steps))))
    assert "rotate(" in svg([one], "short")
    assert "rotate(" not in svg([long], "long")
    assert "<title>0 deep.deep." in svg([long], "long")


def test_overlapping_transfers_count_once() -> None:
    assert Moved((Interval(0, 10), Interval(5, 20), Interval(30, 31))).cycles == 21


def test_command(command: Command, tmp_path: Path) -> None:
    model, trace, picture = tmp_path / "residual.onnx", tmp_path / "trace.json", tmp_path / "map.svg"
    onnx.save(residual(), model)
    words = ["profile", model, "--target", "siracusa", "--l1", "9000", "--per-tile"]
    ran = command(*words, "--json", "--trace", trace, "--map", picture)
    assert ran.code == 0
    found = ran.json
    assert found["status"] == "ok"
    assert sum(layer["cycles"] for layer in found["layers"]) == found["cycles"]
    assert len(found["layers"][0]["tile"]) == found["layers"][0]["tiles"]
    assert {"error", "predicted", "macs_per_cycle", "bytes_in", "stalls", "waiting"} <= found["layers"][0].keys()
    spent = [layer["energy"]["microjoules"] for layer in found["layers"]]
    assert sum(spent) == pytest.approx(found["energy"]["microjoules"])
    assert [one["memory"] for one in found["memory"]] == ["L1", "L2"]
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert "0 stem" in names
    assert picture.read_text().startswith("<svg")
    shown = command(*words)
    assert shown.code == 0
    assert sum(LINE.fullmatch(line) is not None for line in shown.out.splitlines()) > 4
    assert "median error of the layers" in shown.out
    assert re.search(r"[\d.]+ uJ ± \d+%, [\d.]+ mW at 360 MHz: ", shown.out)


def test_only_clusters_are_profiled(command: Command, tmp_path: Path) -> None:
    onnx.save(residual(), tmp_path / "residual.onnx")
    ran = command("profile", tmp_path / "residual.onnx", "--target", "generic", "--json")
    assert ran.code == 2
    assert "without a profile of its layers" in ran.json["error"]["what"]


def test_a_trace_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    onnx.save(residual(), tmp_path / "residual.onnx")
    missing = tmp_path / "missing" / "trace.json"
    ran = command("profile", tmp_path / "residual.onnx", "--target", "siracusa", "--json", "--trace", missing)
    assert ran.code == 2
    assert ran.json["error"]["where"] == str(missing)
