"""Energy that a declaration states, and tables that say what is not counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.accelerator.folders import QVANILLA, changed
from tests.accelerator.test_networks import chain, program
from tilewright.report.energy import energy_text
from tilewright.sim.energy import Energy


def stating(place: Path, picojoules: str) -> str:
    folder = changed(QVANILLA, place, "accelerator.py", ("    done=", f'    picojoules="{picojoules}",\n    done='))
    return f"{folder}:cycles_per_mac=0"


ON_THE_DEVICE = (("conv1", "qvanilla"),)
"""Beside the cores of siracusa, it would not gain anything."""


def energy(target: str, folder: str) -> Energy:
    placed = ON_THE_DEVICE if target == "siracusa" else ()
    found = program(chain(), target, folder, placed=placed).check().result.energy
    assert found is not None
    return found


@pytest.mark.in_turns(6)
def test_a_declared_energy_is_a_component(tmp_path: Path) -> None:
    made = program(chain(), "siracusa", stating(tmp_path, "100 + 3 * macs + 2 * bytes_Y"), placed=ON_THE_DEVICE)
    graph = made.compiled.schedule.graph
    own = [layer for layer in made.compiled.schedule.layers if layer.engine == "qvanilla"]
    jobs = sum(layer.option.grid.tiles for layer in own)
    macs = sum(graph.macs(layer.node) for layer in own)
    # The device gives totals of four bytes.
    results = sum(4 * graph.types[layer.node.key].elements for layer in own)
    found = made.check().result.energy
    assert found is not None
    assert found.picojoules["qvanilla"] == 100 * jobs + 3 * macs + 2 * results
    assert not found.uncounted
    profiled = made.profile().profile
    assert profiled.energy is not None
    assert profiled.energy.spent["qvanilla"] == found.spent["qvanilla"]
    of_layers = [layer.energy.spent.get("qvanilla", 0) for layer in profiled.layers if layer.energy]
    assert sum(of_layers) == found.spent["qvanilla"]
    assert [spent > 0 for spent in of_layers] == [layer.engine == "qvanilla" for layer in profiled.layers]


@pytest.mark.in_turns(3)
def test_what_is_not_declared_is_said() -> None:
    found = energy("siracusa", f"{QVANILLA}:cycles_per_mac=0")
    assert found.uncounted == ("qvanilla",)
    assert energy_text(found).startswith(">")
    assert energy_text(found).endswith("(qvanilla not counted)")
    assert found.as_dict()["not_counted"] == ["qvanilla"]


@pytest.mark.in_turns(6)
def test_a_platform_without_a_model(tmp_path: Path) -> None:
    found = energy("rv32", stating(tmp_path, "macs"))
    assert set(found.spent) == {"qvanilla"}
    assert energy_text(found).endswith("(cores and memories not counted)")
    assert program(chain(), "rv32", QVANILLA).check().result.energy is None


@pytest.mark.parametrize(("text", "said"), [("2 * mac", "mac"), ("macs -", "no expression")])
def test_faults(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        program(chain(), "rv32", stating(tmp_path, text))


def test_a_job_cannot_give_energy(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="-1 picojoules"):
        energy("rv32", stating(tmp_path, "0 - 1"))
