"""Windows are gathered for the accelerator's next tile while it still reads those of the last one."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.support.networks import label, models, needs_networks, stored
from tilewright.target.settings import Settings

NETWORK = "peer/Models/CCT/Int/ICCT_ITA"
"""Its first convolution has three channels and results that the accelerator finishes itself."""


@pytest.mark.in_turns(3)
@needs_networks
def test_a_tile_does_not_write_over_the_windows_of_the_one_before() -> None:
    path = next(path for path in models("peer/**/*.onnx") if label(path) == NETWORK)
    inputs, outputs = stored(path)
    settings = Settings(8, 64_000, home="L2", buffering="double", weight_memory=False)
    program = tw.compile(path, target="siracusa", settings=settings, example_inputs=inputs)
    options = [
        step.option
        for step in program.plan.steps
        if "gathered" in step.option.kernel.stem and not step.option.kernel.has_epilogue
    ]
    assert any(option.double and option.grid.tiles > 1 for option in options), "nothing is gathered tile by tile"
    check = program.check(inputs, outputs)
    assert check.agrees, str(check.first_difference)
