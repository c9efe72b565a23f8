"""A project whose start-up code fills a TCM with weights: built by CMake, and run with the emulated NPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codegen.projects.made import put
from tests.codegen.projects.test_cmake import ZIG, built
from tests.targets.ethos_u.test_dividing import IN_TCM, program
from tilewright import targets
from tilewright.codegen import projects
from tilewright.codegen.projects.project import Project
from tilewright.errors import present


@pytest.mark.in_turns(3)
def test_a_project_with_weights_in_flash_sram_and_tcm(tmp_path: Path) -> None:
    made = program(16_000, IN_TCM, (("dtcm", 8_192),))
    content = projects.files("cmake", Project(made.compiled.schedule, made.compiled.quantised, "pool"))
    for toolchain in ("arm-none-eabi-gcc", "zig"):
        flags = str(content[f"cmake/{toolchain}.cmake"])
        assert "-DTW_COPIES" in flags
        assert "-DTW_ETHOS_U_ALIAS_FROM=0x20000000u" in flags
    assert "> copies AT> flash" in str(content["link.ld"])
    build = built(put(content, tmp_path), "--toolchain", "cmake/zig.cmake", ZIG)
    stand_in = present(targets.find(IN_TCM).in_unicorn, IN_TCM, "has no stand-in")
    with stand_in().machine() as machine:
        machine.load(build / "pool_app.elf")
        report = machine.run(10**8)
    assert report.exit_code == 0
    assert "as expected\n" in machine.stdout
    assert "NOT" not in machine.stdout
