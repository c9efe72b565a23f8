"""Windows are gathered for the accelerator's next tile while it still reads those of the last one."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.support.networks import those_there
from tests.support.stand_ins import Network, network_id, onnx_model, quantised_stem
from tilewright.target.settings import Settings

NETWORKS = [quantised_stem, *those_there("peer/Models/CCT/Int/ICCT_ITA/network.onnx")]
"""Their first convolution has three channels and results that the accelerator finishes itself."""


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_a_tile_does_not_write_over_the_windows_of_the_one_before(network: Network) -> None:
    settings = Settings(8, 64_000, home="L2", buffering="double", weight_memory=False)
    program = tw.compile(onnx_model(network), target="siracusa", settings=settings)
    options = [
        step.option
        for step in program.plan.steps
        if "gathered" in step.option.kernel.stem and not step.option.kernel.has_epilogue
    ]
    assert any(option.double and option.grid.tiles > 1 for option in options), "nothing is gathered tile by tile"
    check = program.check()
    assert check.agrees, str(check.first_difference)
