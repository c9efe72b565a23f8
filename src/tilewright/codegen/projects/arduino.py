"""A library for the Arduino IDE, with a sketch."""

from __future__ import annotations

from tilewright.codegen.projects.project import VERSION, Content, Project, rendered
from tilewright.errors import CompileError

PLACE = "src"


def files(project: Project) -> dict[str, Content]:
    if project.includes(PLACE) or project.flags:
        whose = " and ".join(one.name for one in project.used_outside)
        raise CompileError(
            "--as arduino",
            f"an Arduino library cannot have compiler options or include folders, which the kernels of {whose} need",
            "use --as platformio or --as cmake",
        )  # fmt: skip
    name = project.name
    return {
        **project.sources(PLACE),
        f"{PLACE}/{name}.h": rendered("arduino/library.h", macro=project.writer.macro, name=name),
        f"{PLACE}/network_call.h": project.call_header(),
        "library.properties": rendered(
            "arduino/library.properties", name=name, version=VERSION, summary=project.summary,
        ),
        f"examples/{name}/{name}.ino": rendered("arduino/sketch.ino", name=name),
        "README.md": project.readme("arduino/README.md"),
    }  # fmt: skip
