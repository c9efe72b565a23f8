"""Machines with other numbers of memories and links, as data: nothing generic knows how many there are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.models import model, node
from tilewright.planner.home import ARENA, CONSTANT
from tilewright.program import Program, compile_model
from tilewright.sim.platform import Memory as Place
from tilewright.sim.platforms.quad import QUAD as PLATFORM
from tilewright.target.memory import CORES, Memory
from tilewright.target.runner import VirtualSoc
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.targets.cluster.mchan import mchan
from tilewright.targets.quad.target import TARGET as QUAD

KIB = 1024
BASE = 0x9000_0000


@dataclass(frozen=True)
class More:
    """A memory that quad does not have."""

    name: str
    kib: int
    linked: bool
    """Whether the DMA brings tiles from there."""


MACHINES = {
    "three memories, two links": (More("BANK_A", 256, True),),
    "five memories, two links": (More("BANK_A", 256, True), More("SPARE", 16, False), More("ROM", 16, False)),
    "five memories, four links": (More("BANK_A", 40, True), More("BANK_B", 72, True), More("BANK_C", 96, True)),
}


def machine(more: tuple[More, ...], folder: Path) -> Target:
    """Quad with more memories: their lines in the platform and the target, and their sections for the linker."""
    places = [Place(one.name.lower(), BASE + (n << 24), one.kib * KIB, banks=2) for n, one in enumerate(more)]
    reached = {True: frozenset({CORES, "dma"}), False: frozenset({CORES})}
    memories = [
        Memory(
            one.name, one.kib * KIB, 16, f".{one.name.lower()}", f".{one.name.lower()}.constants",
            reachable_by=reached[one.linked], slowdown=5.0,
        )
        for one in more
    ]  # fmt: skip
    runtime = folder / "runtime"
    runtime.mkdir()
    script = QUAD.runtime_file("sections.ld").read_text()
    headers = "".join(f"  {one.name.lower()} PT_LOAD;\n" for one in more)
    sections = "".join(
        f"  .{name}.constants : {{ . = ALIGN(16); *(.{name}.constants) }} > {name.upper()} :{name}\n"
        f"  .{name} (NOLOAD) : {{ . = ALIGN(16); *(.{name}) }} > {name.upper()} :NONE\n"
        for name in (one.name.lower() for one in more)
    )
    script = script.replace("  /DISCARD/", f"{sections}  /DISCARD/").replace(
        "ram PT_LOAD;\n", f"ram PT_LOAD;\n{headers}"
    )
    (runtime / "sections.ld").write_text(script)
    (runtime / "link.ld").write_text(_with(QUAD.runtime_file("link.ld").read_text(), "", "", headers))
    return replace(
        QUAD,
        memories=(*QUAD.memories, *memories),
        links=(*QUAD.links, *(mchan(one.name, "TCDM") for one in more if one.linked)),
        folder=folder,
        bases=QUAD.folders,
        runner=VirtualSoc(replace(PLATFORM, name="more", memories=(*PLATFORM.memories, *places))),
    )


def _with(script: str, before: str, sections: str, headers: str) -> str:
    """A linker script with more sections and program headers."""
    found = script.replace(before, f"{sections}{before}") if before else script
    return found.replace("ram PT_LOAD;\n", f"ram PT_LOAD;\n{headers}")


def products() -> object:
    """Weights of 8, 64 and 2 KiB, activations of 40 KiB, two of them at once."""
    random = np.random.default_rng(1)
    sizes = {"W": (16, 128), "V": (128, 128), "U": (128, 4)}
    constants = {name: random.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    nodes = [
        node("MatMul", "x W", "a"), node("Relu", "a", "b"), node("MatMul", "b V", "c"), node("Add", "c b", "d"),
        node("MatMul", "d U", "y"),
    ]  # fmt: skip
    return model(nodes, {"x": (80, 16)}, ["y"], constants)


def compiled(more: tuple[More, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    target = machine(more, folder)
    monkeypatch.setattr(importlib.import_module("tilewright.targets.quad.target"), "TARGET", target)
    little = Settings(memories=(("ram", 256 * KIB + 64 * KIB), ("tcdm", 24 * KIB)), time_limit=1.0)
    return compile_model(products(), target="quad", settings=little)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("name", MACHINES)
def test_plans_validates_and_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = MACHINES[name]
    made = compiled(more, tmp_path, monkeypatch)
    homes = made.plan.homes.values()
    used = {home.memory for home in homes if home.kind in (ARENA, CONSTANT)}
    assert {one.name for one in more if not one.linked} & used == set()
    assert {one.name for one in more if one.linked} <= used
    assert made.check().first_difference is None
