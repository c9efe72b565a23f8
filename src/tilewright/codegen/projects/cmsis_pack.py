"""A CMSIS-Pack: a description, the network as a software component, and both as one file to install."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from tilewright.codegen.projects.gnu_flags import cpu_of
from tilewright.codegen.projects.project import VERSION, Content, Project, rendered

VENDOR = "Tilewright"
PLACE = "network"
LONGEST_NAME = 32
"""Of a group of components, as the schema has it."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip knows: the same network gives the same bytes."""


def files(project: Project) -> dict[str, Content]:
    packed: dict[str, Content] = {
        **project.sources(PLACE),
        "app/main.c": rendered("cmsis_pack/main.c"),
        "app/network_call.h": project.call_header(),
        "README.md": project.readme("cmsis_pack/README.md", vendor=VENDOR, version=VERSION),
    }
    described = f"{VENDOR}.{project.name}.pdsc"
    packed[described] = _description(project)
    return {**packed, f"{VENDOR}.{project.name}.{VERSION}.pack": _zipped(packed)}


def _description(project: Project) -> str:
    core = cpu_of(project.target).replace("cortex-m", "Cortex-M").replace("plus", "+")
    condition = rendered("cmsis_pack/condition.xml", core=core) if core else ""
    lines = [_file("header", f"{PLACE}/network.h"), _file("include", f"{PLACE}/")]
    lines += [_file("include", f"{path}/") for path in project.includes(PLACE)]
    lines += [_file("source", name) for name in project.c_files(PLACE)]
    lines += [
        _file("sourceC", "app/main.c", attr="template", select="One call of the network, with its time"),
        _file("header", "app/network_call.h", attr="template", select="One call of the network, with its time"),
    ]
    return rendered(
        "cmsis_pack/package.xml", vendor=VENDOR, name=project.name, version=VERSION, summary=project.summary,
        group=project.name[:LONGEST_NAME], files="\n".join(lines), conditions=condition,
        condition=' condition="core"' if core else "",
    )  # fmt: skip


def _file(category: str, name: str, **attributes: str) -> str:
    more = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f'        <file category="{category}" name={quoteattr(name)}{more}/>'


def _zipped(content: Mapping[str, Content]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, text in sorted(content.items()):
            pack.writestr(zipfile.ZipInfo(name, EPOCH), text, zipfile.ZIP_DEFLATED)
    return data.getvalue()
