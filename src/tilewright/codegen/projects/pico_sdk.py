"""A project of the Raspberry Pi Pico SDK's."""

from __future__ import annotations

from tilewright.codegen.projects.project import Content, Project, listed, rendered
from tilewright.errors import CompileError

PLACE = "network"
ARM, RISCV, FIRST = ("pico2", "rp2350-arm-s"), ("pico2", "rp2350-riscv"), ("pico", "rp2040")
BOARDS = {
    "generic": ARM, "cortex-m33": ARM, "rp2350-arm": ARM, "hazard3": RISCV, "rv32": RISCV, "rp2350-riscv": RISCV,
    "cortex-m0plus": FIRST, "rp2040": FIRST,
}  # fmt: skip
"""Targets and boards -> what the SDK calls the board and the platform."""


def files(project: Project) -> dict[str, Content]:
    name = project.name
    board, platform = _board(project)
    includes = "".join(f" {path}" for path in project.includes(PLACE))
    return {
        **project.sources(PLACE),
        "CMakeLists.txt": rendered(
            "pico_sdk/project.txt", name=name, board=board, platform=platform,
            sources=listed(project.c_files(PLACE)), includes=includes,
            flags="".join(f" {flag}" for flag in project.flags),
        ),
        "app/main.c": rendered("pico_sdk/main.c"),
        "app/network_call.h": project.call_header(),
        "README.md": project.readme("pico_sdk/README.md", board=board, platform=platform),
    }  # fmt: skip


def _board(project: Project) -> tuple[str, str]:
    found = BOARDS.get(project.target.name)
    if found is None:
        raise CompileError(
            f"target {project.target.name}", "is not for a chip of Raspberry Pi's",
            "choose --board rp2040, rp2350-arm or rp2350-riscv; or --target generic",
        )  # fmt: skip
    return found
