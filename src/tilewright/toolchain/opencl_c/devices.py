"""Code of kernels in OpenCL C for devices: SPIR-V, and AMD's assembly."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tilewright.records import dataclass
from tilewright.toolchain.compiler import Compiler, compile_objects, find_cross_compiler

DECLARED, AMD = "declared.h", "amd.h"
"""Headers with what OpenCL C has without an include."""


@dataclass(frozen=True)
class Form:
    ending: str
    """Of files."""
    headers: tuple[str, ...]
    options: tuple[str, ...]


def _amd(chip: str) -> Form:
    return Form(
        f".{chip}.s", (DECLARED, AMD), ("-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", "-nogpulib", "-S")
    )  # fmt: skip


FORMS: Mapping[str, Form] = {
    "spirv": Form(".spv", (DECLARED,), ("-target", "spirv64v1.2-unknown-unknown")),
    "gfx942": _amd("gfx942"),
    "gfx1100": _amd("gfx1100"),
}
"""By what users call them: SPIR-V 1.2, which drivers of OpenCL 2.2 and of 3.0 with programs in it read, and chips of
AMD's."""


def device_code(texts: Mapping[str, str], form: Form, headers: Path) -> dict[str, bytes]:
    """By the names of the texts, with another ending."""
    clang = Compiler((find_cross_compiler().command[0], "clang"))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        sources = [folder / f"{stem}.cl" for stem in texts]
        for source, text in zip(sources, texts.values(), strict=True):
            source.write_text(text, encoding="utf-8")
        made = compile_objects(dict.fromkeys(sources, _options(form, headers)), folder, clang)
        return {f"{stem}{form.ending}": path.read_bytes() for stem, path in zip(texts, made, strict=True)}


def _options(form: Form, headers: Path) -> list[str]:
    included = [word for name in form.headers for word in ("-include", str(headers / name))]
    language = ["-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-Xclang", "-fdeclare-opencl-builtins", "-O2", "-w"]
    return [*language, *included, *form.options]
