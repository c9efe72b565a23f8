"""Programs for this machine: what networks share is compiled once, and many of them may be one program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.models import model, node
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError, InternalError
from tilewright.run.host import HostNetwork, HostPrograms
from tilewright.toolchain.compiler import Compiler


def scaled(factor: float, size: int = 4) -> tw.Program:
    constants = {"k": np.float32(factor).reshape(1)}
    return tw.compile(model([node("Mul", "x k", "y")], {"x": (size,)}, ["y"], constants), name=f"by_{int(factor)}")


def network(program: tw.Program) -> HostNetwork:
    schedule = program.compiled.schedule
    return HostNetwork(schedule, program.files, Writer(schedule, program.name))


def test_networks_in_one_program() -> None:
    programs = HostPrograms([network(scaled(factor, size)) for factor, size in ((2, 4), (3, 1), (5, 700))])
    for number, (factor, size) in enumerate(((2, 4), (3, 1), (5, 700))):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(programs.run({"x": x}, number=number).outputs["y"], factor * x)


def test_what_does_not_compile_is_named() -> None:
    good, bad = network(scaled(2)), network(scaled(3))
    broken = HostNetwork(bad.schedule, {**bad.files, "network.c": "int nothing\n"}, bad.writer)
    with pytest.raises(CompileError, match=r"1/network\.c:1"):
        HostPrograms([good, broken])


def test_inputs_that_are_too_short_are_found() -> None:
    programs = HostPrograms([network(scaled(2))])
    with pytest.raises((CompileError, InternalError), match="the inputs end early"):
        programs.run({"x": np.zeros(3, np.float32)})


@pytest.mark.in_turns(5)
def test_another_network_is_one_more_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    sources, compile_one = list[Path](), Compiler.compile

    def counted(self: Compiler, source: Path, *rest: Any) -> None:
        sources.append(source)
        compile_one(self, source, *rest)

    monkeypatch.setattr(Compiler, "compile", counted)
    scaled(2).build()
    first = len(sources)
    scaled(3).build()
    assert first > 2
    assert len(sources) == first + 1
