"""A module of Zephyr's with a sample application."""

from __future__ import annotations

from tilewright.codegen.cmake_symbols import refuse_shared, symbols
from tilewright.codegen.projects.gnu_flags import has_float_unit
from tilewright.codegen.projects.project import Content, Project, listed, rendered

PLACE = "src"
STACK = 8192
"""Bytes for Zephyr's main thread, on which the sample calls the network."""


def files(project: Project) -> dict[str, Content]:
    name, option = project.name, f"TILEWRIGHT_{project.writer.macro}"
    values = {"name": name, "option": option}
    sample = f"samples/{name}"
    includes = "".join(f"  zephyr_include_directories({path})\n" for path in project.includes(PLACE))
    flags = "".join(f"  zephyr_library_compile_options({flag})\n" for flag in project.flags)
    return {
        **project.sources(PLACE),
        "zephyr/module.yml": rendered("zephyr/module.yml", name=name),
        "CMakeLists.txt": rendered(
            "zephyr/module.txt", **values, sources=listed(project.c_files(PLACE), "    "), more=includes + flags,
            refused=refuse_shared(name, symbols([project.writer])),
        ),
        "Kconfig": rendered("zephyr/Kconfig", **values, summary=project.summary),
        f"{sample}/CMakeLists.txt": rendered("zephyr/sample.txt", **values),
        f"{sample}/prj.conf": rendered(
            "zephyr/prj.conf", option=option, stack=str(STACK),
            unit="CONFIG_FPU=y\n" if has_float_unit(project.target) else "",
        ),
        f"{sample}/sample.yaml": rendered("zephyr/sample.yaml", name=name, summary=project.summary),
        f"{sample}/src/main.c": rendered("zephyr/main.c"),
        f"{sample}/src/network_call.h": project.call_header(),
        "README.md": project.readme("zephyr/README.md"),
    }  # fmt: skip
