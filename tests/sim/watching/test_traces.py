"""Profile, trace and single steps."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sim.assembling import BASE, FOREVER, assemble, built, elf_of
from tilewright.sim.library import CSpan
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.simulator import Simulator
from tilewright.sim.watching.traces import write_trace


def watched(trace: bool) -> Simulator:
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c"))
    simulator.watch(trace)
    return simulator


def test_watching_changes_no_cycle() -> None:
    with Simulator("siracusa") as plain:
        plain.load(built("sum.c"))
        assert plain.run().cycles == watched(True).run().cycles


def test_profile_accounts_for_all_cycles() -> None:
    simulator = watched(False)
    report = simulator.run()
    rows = simulator.profile()
    by_name = {row.name: row for row in rows}
    assert by_name["share"].instructions > 8 * 128 * 3
    assert all(by_name["share"].per_core[:8])
    for i, core in enumerate(report.cores[:8]):
        assert abs(sum(row.per_core[i] for row in rows) - core.cycles) <= 30
    assert rows == sorted(rows, key=lambda row: -row.cycles)
    assert sum(row.sleep for row in rows) == sum(core.stalls["sleep"] for core in report.cores)
    assert simulator.profile() == rows, "looking twice counts nothing twice"


def test_trace_has_cores_functions_and_devices(tmp_path: Path) -> None:
    simulator = watched(True)
    simulator.run()
    simulator.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert {"cluster 0", "cluster 7", "fc", "dma channel 0"} <= set(tracks)
    spans = [e for e in events if e["ph"] == "X"]
    assert {"share", "cluster_main", "asleep", "in"} <= {e["name"] for e in spans}
    (transfer,) = [e for e in spans if e["tid"] == tracks["dma channel 0"]]
    assert 512 <= transfer["dur"] <= 530


def test_tracing_goes_on_after_a_look(tmp_path: Path) -> None:
    """What is written in the middle of a sleep does not appear twice, and spans lie inside each other or apart."""
    simulator = watched(True)
    for cycle in range(0, 25_000, 500):
        simulator.run_until(cycle=cycle)
        simulator.write_trace(tmp_path / "part.json")
    simulator.run()
    simulator.write_trace(tmp_path / "trace.json")
    spans = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    asleep = [(e["tid"], e["ts"], e["ts"] + e["dur"]) for e in spans if e["name"] == "asleep"]
    assert len(asleep) > 8
    for tid, start, end in asleep:
        others = [(a, b) for track, a, b in asleep if track == tid]
        assert sum(a < end and start < b for a, b in others) == 1


TRANSFERS = """-DFAULT=
    unsigned a = DMA; DMA = 1024 | 3 << 17; DMA = 0; DMA = (unsigned)data;
    unsigned b = DMA; DMA = 512 | 1 << 18; DMA = 4096; DMA = (unsigned)data + 2048;
    unsigned c = DMA; DMA = 2048 | 3 << 17; DMA = 8192; DMA = (unsigned)data;
    DMA = 64 | 1 << 18; DMA = 12288; DMA = (unsigned)data + 1024;
    while (REG(0x10204404) & 0xffff) {}
    REG(0x10204404) = 1 << a | 1 << b | 1 << c"""


def test_every_transfer_id_of_the_dma_has_a_track(tmp_path: Path) -> None:
    """Three at a time after the one of the program itself; the ids that are not used have no track."""
    simulator = Simulator("siracusa")
    simulator.load(built("sum.c", "-DDMA=REG(0x10204400)", " ".join(TRANSFERS.split())))
    simulator.watch(trace=True)
    simulator.run()
    simulator.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = sorted((tracks[e["tid"]], e["ts"], e["name"], e["dur"]) for e in events if e["ph"] == "X")
    dma = [(track, name, dur) for track, _, name, dur in spans if track.startswith("dma")]
    assert [row[:2] for row in dma] == [
        ("dma channel 0", "in"), ("dma channel 0", "in"), ("dma channel 1", "out"), ("dma channel 2", "in and out"),
    ]  # fmt: skip
    # while data comes in, data goes out without the idle cycle before each burst
    assert [dur for _, _, dur in dma[1:3]] == [2 + 1024 // 8, 1 + 512 // 8]


def test_a_trace_tells_that_it_is_not_complete(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.json", SIRACUSA, ["f"], [CSpan(0, 10, 0, 1)], lost=7)
    assert "siracusa (1 us = 1 cycle; 7 spans at the end are left out)" in (tmp_path / "trace.json").read_text()


def test_single_steps() -> None:
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(assemble("addi a0, a0, 1\n addi a0, a0, 2\n addi a0, a0, 4", "+m") + FOREVER))
        places = []
        for _ in range(4):
            assert simulator.step(0)
            places.append((simulator.register(0, "pc") - BASE, simulator.register(0, "a0")))
        assert places == [(0, 0), (4, 1), (8, 3), (12, 7)]
