"""A library for the Arduino IDE, with a sketch."""

from __future__ import annotations

from pathlib import Path

from tilewright.codegen.names import LIBRARY_HEADERS
from tilewright.codegen.projects.project import VERSION, Content, Project, rendered
from tilewright.errors import CompileError

PLACE = "src"
CALL = "network_call.h"
TAKEN = LIBRARY_HEADERS | {"arduino", "network", "network_data", Path(CALL).stem, "spi", "wire"}
"""Headers that sketches or the network include. Disks may not tell capitals from small letters."""


def files(project: Project) -> dict[str, Content]:
    if project.includes(PLACE) or project.flags:
        whose = " and ".join(one.name for one in project.used_external_kernels) or project.target.name
        raise CompileError(
            "--as arduino",
            f"an Arduino library cannot have compiler options or include folders, which the kernels of {whose} need",
            "use --as platformio or --as cmake",
        )  # fmt: skip
    name, header = project.name, _header(project.name)
    app = f"{name}_app"  # a sketch may have several libraries
    return {
        **project.sources(PLACE),
        f"{PLACE}/{header}": rendered("arduino/library.h", macro=project.writer.macro, name=name),
        f"{PLACE}/{CALL}": project.call_header(app=app),
        "library.properties": rendered(
            "arduino/library.properties", name=name, version=VERSION, summary=project.summary, header=header,
        ),
        f"examples/{name}/{name}.ino": rendered("arduino/sketch.ino", header=header, app=app, prefix=app.upper()),
        "README.md": project.readme("arduino/README.md"),
    }  # fmt: skip


def _header(name: str) -> str:
    return f"{name}_network.h" if name in TAKEN else f"{name}.h"
