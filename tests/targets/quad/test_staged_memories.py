"""A machine with two memories behind its RAM, one by way of the other, as data: three links from there to the tiles."""

from __future__ import annotations

import importlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.targets.quad.test_memories import KIB, products
from tilewright.errors import InternalError
from tilewright.planner.check.plan_lifetimes import check_lifetimes
from tilewright.program import Program, compile_model
from tilewright.sim.platform import Device, Kind
from tilewright.sim.platform import Memory as Place
from tilewright.sim.platforms.quad import QUAD as PLATFORM
from tilewright.target.memory import Link, Memory
from tilewright.target.runner import VirtualSoc
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.targets.quad.target import TARGET as QUAD
from tilewright.targets.siracusa.target import TARGET as SIRACUSA

RUNTIME = Path(__file__).parent / "staged"
NAMES = ("FAR", "DEEP")
FAR_ENGINE = 0x5000_0000
"""Like Siracusa's uDMA: what brings tiles from FAR is that chip's runtime."""


def machine(far: int, folder: Path) -> Target:
    """Quad with so many bytes of FAR, and DEEP behind them."""
    shutil.copytree(RUNTIME, folder / "runtime")
    for name in ("l3_tiles.h", "l3_tiles.c"):
        text = SIRACUSA.runtime_file(name).read_text().replace("l3", "far").replace("L3", "FAR")
        define = f"#define TW_UDMA {FAR_ENGINE:#x}u\n" if name.endswith(".c") else ""
        (folder / "runtime" / name.replace("l3", "far")).write_text(define + text)
    script = QUAD.runtime_file("sections.ld").read_text()
    sections = "".join(
        f"  .{name} : {{ tw_{name}_image = .; *(.{name}) . = ALIGN(4); tw_{name}_image_end = .; }} > "
        f"{name.upper()} :{name}\n"
        for name in map(str.lower, NAMES)
    )
    headers = "".join(f"  {name.lower()} PT_LOAD;\n" for name in NAMES)
    script = script.replace("  .text :", f"{sections}  .text :").replace("ram PT_LOAD;\n", f"ram PT_LOAD;\n{headers}")
    sizes = {"FAR": far, "DEEP": 256 * KIB}
    places = [Place(name.lower(), 0x9000_0000 + (n << 24), sizes[name]) for n, name in enumerate(NAMES)]
    regions = "".join(f"  {one.name.upper()} (r) : ORIGIN = {one.base:#x}, LENGTH = {one.size:#x}\n" for one in places)
    (folder / "runtime" / "sections.ld").write_text(f"MEMORY {{\n{regions}}}\n{script}")
    engines = [
        Device("far engine", Kind.HYPER_UDMA, FAR_ENGINE, 0x2000, parameters=("far", "ram", "ram", "ram")),
        Device("deep engine", Kind.HYPER_UDMA, 0x5001_0000, 0x2000, parameters=("deep", "far", "far", "far")),
    ]
    memories = [
        Memory(name, sizes[name], 16, "", f".{name.lower()}", reachable_by=frozenset({f"{name.lower()} engine"}))
        for name in NAMES
    ]
    links = [
        Link(
            f"{name.lower()} engine", name, inner, longest=0xFFFF0, read=1.0, write=1.8, latency=20, command=60, queue=8
        )
        for name, inner in zip(NAMES, ("RAM", "FAR"), strict=True)
    ]
    platform = replace(
        PLATFORM, name="staged", memories=(*PLATFORM.memories, *places), devices=(*PLATFORM.devices, *engines)
    )
    return replace(
        QUAD, memories=(*QUAD.memories, *memories), links=(*QUAD.links, *links), folder=folder, bases=QUAD.folders,
        runner=VirtualSoc(platform),
    )  # fmt: skip


def compiled(far: int, folder: Path, monkeypatch: pytest.MonkeyPatch, ram: int, **asked: str) -> Program:
    monkeypatch.setattr(importlib.import_module("tilewright.targets.quad.target"), "TARGET", machine(far, folder))
    settings = Settings(memories=(("ram", 256 * KIB + ram), ("tcdm", 24 * KIB)), time_limit=1.0, **asked)
    return compile_model(products(), target="quad", settings=settings)


SPILLING, KEEPING = 110 * KIB, 130 * KIB
"""Bytes of RAM for the network: too few for its activations, and enough."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("far", "ram", "asked", "used"),
    [
        (48 * KIB, SPILLING, {}, {"RAM", "FAR", "DEEP"}),
        (64 * KIB, KEEPING, {}, {"RAM", "FAR", "DEEP"}),
        (256 * KIB, SPILLING, {}, {"RAM", "FAR"}),
        (64 * KIB, 2 * KEEPING, {"home": "DEEP"}, {"RAM", "DEEP"}),
    ],
    ids=["both, activations too", "both", "the nearer holds all", "asked for"],
)
def test_plans_validates_and_runs(
    far: int, ram: int, asked: dict[str, str], used: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = compiled(far, tmp_path / "more", monkeypatch, ram, **asked)
    assert {home.memory for home in made.plan.homes.values()} - {"TCDM"} == used
    passing = [memory for step in made.plan.steps for passes in step.passes.values() for memory, _ in passes]
    assert set(passing) == ({"FAR"} if "DEEP" in used else set())
    assert bool(made.plan.arena(made.plan.memories.spill).peak) == (bool(passing) or ram == SPILLING)
    assert made.check().first_difference is None


@pytest.mark.in_turns(6)
def test_what_passes_where_activations_live_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = compiled(48 * KIB, tmp_path / "more", monkeypatch, SPILLING).plan
    arena = plan.arena(plan.memories.spill)
    tensors = [buffer for buffer in arena.problem.buffers if buffer.name[0] == "tensor"]
    tried = [
        (step, number, constant, arena.solution.offsets[tensor.name])
        for number, step in enumerate(plan.steps)
        for constant, passes in step.passes.items()
        for tensor in tensors
        if passes and tensor.first <= number <= tensor.last
    ]
    assert tried
    for step, number, constant, offset in tried:
        wrong = replace(step, passes={**step.passes, constant: (("FAR", offset),)})
        with pytest.raises(InternalError):
            check_lifetimes(replace(plan, steps=(*plan.steps[:number], wrong, *plan.steps[number + 1 :])))
