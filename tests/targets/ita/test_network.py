"""Networks all the way to C and onto the virtual SoC, where ITA stands beside cores: quad has room for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.targets.ita.test_products import graph_of
from tilewright import targets
from tilewright.pipeline import compile_graph
from tilewright.program import Program
from tilewright.sim.platform import Device, Kind
from tilewright.sim.platforms.quad import CLUSTER, QUAD
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import Engine, Target
from tilewright.targets import ita
from tilewright.targets.ita.kernels import KERNELS
from tilewright.targets.ita.products import PRODUCTS_ON_ITA, STAY_IN_TILES

TCDM_BYTES = 0x2_0000
ITA = Device("ita", Kind.ITA, 0x1004_0000, 0x100, {CLUSTER: 2}, ("tcdm", 12))


def quad_with_ita() -> Target:
    """More banks and bytes of TCDM, in which everything begins where ITA can read it."""
    quad = targets.find("quad")
    tcdm, ram = QUAD.memories
    platform = replace(
        QUAD, memories=(replace(tcdm, size=TCDM_BYTES, banks=64), ram), devices=(*QUAD.devices, ITA), name="quad_ita"
    )
    l1, l2 = quad.memories
    (engine,) = quad.engines
    return replace(
        quad,
        engines=(Engine(engine.name, (*KERNELS, *engine.kernels)),),
        passes=(*quad.passes, PRODUCTS_ON_ITA, STAY_IN_TILES),
        memories=(replace(l1, bytes=TCDM_BYTES, base_alignment=128), l2),
        bases=(
            Path(ita.__file__).parent,
            Path(ita.__file__).parent / "queue",
            Path(targets.__file__).parent / "accelerated",
            *quad.bases,
        ),
        flags=(*quad.flags, "-DTW_ITA=0x10040000u", f"-DTW_ITA_MEMORY={tcdm.base:#x}u"),
        agents=replace(quad.agents, state=128, waiting_stack=64),
        runner=VirtualSoc(platform),
    )


@pytest.mark.in_turns(5)
def test_products_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than the TCDM has room for at once: rows and columns come in parts."""
    target = quad_with_ita()
    monkeypatch.setattr(targets, "find", lambda name: target)
    graph = graph_of(200, [192, 448, 70])
    program = Program(compile_graph(graph, "quad"), "", None, 0.0)
    x = np.random.default_rng(3).integers(-128, 128, (2, 200, 192)).astype(np.int8)
    checked = program.check({"x": x})
    assert [output.mismatches for output in checked.outputs] == [0]
    done = checked.result.soc
    assert done is not None
    jobs = 2 * 4 * (3 * 7 + 7 * 2)
    assert done.report.busy["ita"] >= 256 * jobs
