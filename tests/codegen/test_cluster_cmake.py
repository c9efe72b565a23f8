"""The CMakeLists.txt of a network for a cluster, as text."""

from __future__ import annotations

from tests.support.models import residual
from tilewright import pipeline
from tilewright.codegen import folder
from tilewright.planner.schedule.schedule import Schedule


def test_it_names_what_is_in_the_folder() -> None:
    *_, schedule, _ = pipeline.stages(pipeline.import_model(residual()), "quad", "net")
    assert isinstance(schedule, Schedule)
    texts = folder.files(schedule, "net")
    text = texts["CMakeLists.txt"]
    assert "; runtime/program.c calls the network." in text
    listed = {line.strip() for line in text.splitlines() if line.strip().endswith(".c")}
    assert listed == {name for name in texts if name.endswith(".c")} - {"runtime/program.c"}
    assert "target_compile_definitions(net_network PRIVATE TW_CORES=4)" in text
