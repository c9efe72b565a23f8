"""Layers of a computer's network are timed one after the other."""

from __future__ import annotations

import itertools
from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import residual
from tilewright.errors import CompileError
from tilewright.profiling.profile import NANOSECONDS
from tilewright.profiling.spans import spans
from tilewright.program import Program, compile_model


@pytest.fixture(scope="module")
def made() -> Program:
    return compile_model(residual(), target="cpu")


def test_layers_follow_each_other(made: Program) -> None:
    found = made.profile()
    layers = found.profile.layers
    assert [layer.kernel for layer in layers] == [call.kernel.stem for call in made.compiled.schedule.layers]
    assert sum(layer.cycles for layer in layers) == found.profile.cycles > 0
    assert all(before.time.end == after.time.start for before, after in itertools.pairwise(layers))
    assert found.profile.as_dict()["unit"] == NANOSECONDS
    assert len(list(spans(found))) >= len(layers)


def test_the_arena_is_drawn(made: Program) -> None:
    (arena,) = made.memory_maps
    assert arena.used == made.compiled.schedule.arena_bytes
    assert max(region.end for region in arena.regions) <= arena.used


def test_the_command_prints_microseconds(command: Command, tmp_path: Path) -> None:
    onnx.save(residual(), tmp_path / "model.onnx")
    trace = tmp_path / "trace.json"
    said = command("profile", tmp_path / "model.onnx", "--target", "cpu", "--trace", trace)
    assert "GMAC/s" in said.out
    assert "us in the fastest call" in said.out
    assert trace.read_text()


def test_targets_without_a_processor_are_refused() -> None:
    with pytest.raises(CompileError, match="runs on this machine, without a profile"):
        compile_model(residual(), target="generic").profile()
