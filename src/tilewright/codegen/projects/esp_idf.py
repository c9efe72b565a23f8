"""A project of ESP-IDF's, with the network as a component of it."""

from __future__ import annotations

from tilewright.codegen.cmake_symbols import refuse_shared, symbols
from tilewright.codegen.projects.project import VERSION, Content, Project, listed, rendered
from tilewright.errors import CompileError

PLACE = "network"
STACK = 8192
"""Bytes for ESP-IDF's main task, on which the application calls the network."""
ANY = "esp32s3"
"""Stands for all chips where the C is portable."""
CHIPS = {
    "generic": ANY, "rv32": "esp32c3", "esp-rv32imc": "esp32c3", "esp-rv32imafc": "esp32p4",
    "esp32-c3": "esp32c3", "esp32-c6": "esp32c6", "esp32-p4": "esp32p4",
}  # fmt: skip
"""Targets and boards -> what ESP-IDF calls the chip."""


def files(project: Project) -> dict[str, Content]:
    name, chip = project.name, _chip(project)
    component, option = f"components/{name}", f"TILEWRIGHT_{project.writer.macro}"
    values = {"name": name, "option": option}
    includes = "".join(f' "{path}"' for path in project.includes(PLACE))
    return {
        **project.sources(f"{component}/{PLACE}"),
        f"{component}/CMakeLists.txt": rendered(
            "esp_idf/component.txt", sources=listed([f'"{path}"' for path in project.c_files(PLACE)], "    "),
            includes=includes, flags="".join(f" {flag}" for flag in project.flags),
            refused=refuse_shared(name, symbols([project.writer])),
        ),
        f"{component}/Kconfig": rendered("esp_idf/Kconfig", **values, summary=project.summary),
        f"{component}/linker.lf": rendered("esp_idf/linker.lf", **values),
        f"{component}/idf_component.yml": rendered("esp_idf/component.yml", version=VERSION, summary=project.summary),
        "CMakeLists.txt": rendered("esp_idf/project.txt", name=name),
        "main/CMakeLists.txt": rendered("esp_idf/main.txt", name=name),
        "main/main.c": rendered("esp_idf/main.c"),
        "main/network_call.h": project.call_header(),
        "sdkconfig.defaults": rendered("esp_idf/sdkconfig.defaults", stack=str(STACK)),
        "README.md": project.readme("esp_idf/README.md", chip=chip, option=option, chips=_chips_text(chip)),
    }  # fmt: skip


def _chip(project: Project) -> str:
    found = CHIPS.get(project.target.name)
    if found is None:
        raise CompileError(
            f"target {project.target.name}", "is not for a chip of Espressif's",
            "choose --board esp32-c3, esp32-c6 or esp32-p4; or --target generic: portable C, also for Xtensa chips",
        )  # fmt: skip
    return found


def _chips_text(chip: str) -> str:
    if chip == ANY:
        return "The network is portable C99: any chip will do, RISC-V or Xtensa (`esp32`, `esp32s2`, `esp32s3`)."
    return "Its kernels are for RISC-V; for Xtensa chips (`esp32`, `esp32s3`) export it again with `--target generic`."
