"""A project of PlatformIO's, with the network as a library of it."""

from __future__ import annotations

import json

from tilewright.codegen.projects.gnu_flags import cpu_of
from tilewright.codegen.projects.project import VERSION, Content, Project, rendered
from tilewright.errors import CompileError

BOARDS = {
    "cortex-m0plus": ("ststm32", "nucleo_l073rz"), "cortex-m4": ("ststm32", "nucleo_l476rg"),
    "cortex-m7": ("ststm32", "nucleo_h743zi"), "cortex-m33": ("ststm32", "nucleo_l552ze_q"),
    "esp32-c3": ("espressif32", "esp32-c3-devkitm-1"), "esp32-c6": ("espressif32", "esp32-c6-devkitc-1"),
    "ch32v307": ("ch32v", "ch32v307_evt"), "gd32vf103": ("gd32v", "sipeed-longan-nano"),
}  # fmt: skip
"""PlatformIO's names of a platform and a usual board with a core of Arm's, or of a board of ours with another; a user
with another board changes two lines."""


def files(project: Project) -> dict[str, Content]:
    name = project.name
    library = f"lib/{name}"
    return {
        **project.sources(f"{library}/src"),
        f"{library}/library.json": _manifest(project),
        "platformio.ini": rendered("platformio/platformio.ini", **_environment(project)),
        "src/main.cpp": rendered("platformio/main.cpp"),
        "include/network_call.h": project.call_header(),
        "README.md": project.readme("platformio/README.md"),
    }


def _manifest(project: Project) -> str:
    flags = [*(f"-I {path}" for path in project.includes("src")), *project.flags]
    found = {
        "name": project.name, "version": VERSION, "description": project.summary, "keywords": "neural network",
        "frameworks": "*", "platforms": "*", "build": {"srcDir": "src", "flags": ["-O2", *flags]},
    }  # fmt: skip
    return json.dumps(found, indent=2) + "\n"


def _environment(project: Project) -> dict[str, str]:
    if not project.target.agents.isa:
        return {"environment": "native", "lines": "platform = native"}
    core = cpu_of(project.target) or project.target.name
    if core not in BOARDS:
        raise CompileError(
            f"target {project.target.name}", "no PlatformIO board is known for it", "use --as cmake"
        )  # fmt: skip
    platform, board = BOARDS[core]
    lines = f"platform = {platform}\nboard = {board}\nframework = arduino\nmonitor_speed = 115200"
    return {"environment": board, "lines": lines}
