"""The output folder: all its files as text, and writing them so that no half-written folder is ever left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from tilewright.codegen import (
    binary_data,
    board_program,
    c_data,
    cluster_program,
    cross_files,
    example,
    external_kernels,
    gpu_files,
    threads,
)
from tilewright.codegen.flow_names import HEADER
from tilewright.codegen.kernels import PREFIX_FILE, headers, prefixes, prototypes
from tilewright.codegen.network import Writer, runtime_functions, symbol_prefix
from tilewright.codegen.text_of import text_of
from tilewright.codegen.texts import Text, Texts
from tilewright.errors import CompileError
from tilewright.planner.schedule.planned_flow import planned_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.runner import GpuProcess, HostProcess, Runner, VirtualSoc

OWN_FILES = {
    "CMakeLists.txt", "kernels", "runtime", "main.c", "network.c", "network.h", "network_data.c", "network_data.h",
    binary_data.SOURCE, binary_data.BYTES, cross_files.PLACE,
}  # fmt: skip
"""A folder that holds nothing else is one of ours and may be replaced, if its CMakeLists.txt says so too."""


WEIGHTS = ("c", "binary")
"""How constants are written: as portable C, or as bytes that an assembler takes in."""


def files(schedule: Schedule, name: str = "", weights: str = "c") -> Texts:
    """Relative path -> text of every file of a compiled network; binary weights are a file besides."""
    writer = Writer(schedule, symbol_prefix(name or schedule.graph.name))
    text = text_of(writer)
    used, target = writer.kernels, schedule.target
    texts: dict[str, Text] = {
        "network.h": text.header(),
        "network.c": text.source(),
        "network_data.h": c_data.header(writer),
        "kernels/kernels.h": prototypes(used),
        f"kernels/{PREFIX_FILE}": prefixes(used, writer.kernel_prefix, runtime_functions(schedule)),
    }
    # Of millions of weights, the text takes longer than all else: it is made when it is read.
    texts |= (
        {"network_data.c": partial(c_data.source, writer)}
        if weights == "c"
        else {binary_data.SOURCE: binary_data.source(writer)}
    )
    added = {name for one in target.external_kernels for name in one.files}
    texts |= {
        f"kernels/{instance.file}": instance.text(target.kernel_text, instance.kernel.source in added)
        for instance in used
    }
    texts |= {f"kernels/{header}": text for header, text in headers(used, target.kernel_text).items()}
    if planned_layers(schedule):
        texts[f"kernels/{HEADER}"] = target.kernel_text(HEADER)
    texts |= {**external_kernels.library_files(target, used), **threads.files(schedule)}
    texts |= gpu_files.files(schedule, used, texts)
    return Texts(texts | AROUND[writer.has_runtime, type(target.runner)](writer, texts))


def _example(writer: Writer, texts: Mapping[str, Text]) -> dict[str, str]:
    built = {"main.c": example.main(writer), "CMakeLists.txt": example.cmake(writer, texts, needs_math(writer, texts))}
    return built | cross_files.files(writer.schedule.target)


def _one_core(writer: Writer, texts: Mapping[str, Text]) -> dict[str, str]:
    more = board_program.files(writer)
    return more | {"CMakeLists.txt": board_program.cmake(writer, [*texts, *more])}


def _many_cores(writer: Writer, texts: Mapping[str, Text]) -> dict[str, str]:
    more = {**cluster_program.files(writer.schedule.target)}
    more["runtime/program_call.h"] = cluster_program.program_call(writer)
    return more | {"CMakeLists.txt": cluster_program.cmake(writer, [*texts, *more])}


AROUND: Mapping[tuple[bool, type[Runner]], Callable[[Writer, Mapping[str, Text]], dict[str, str]]] = {
    (False, HostProcess): _example,
    (False, GpuProcess): _example,
    (False, VirtualSoc): _one_core,
    (True, VirtualSoc): _many_cores,
}
"""What makes the folder a program: whether a runtime is part of it, and how programs run."""


def needs_math(writer: Writer, texts: Mapping[str, Text]) -> bool:
    """Whether some file includes <math.h>, that of the constants too: it has the names of what is not finite."""
    found = any("<math.h>" in text for text in texts.values() if isinstance(text, str))
    return found or ("network_data.c" in texts and writer.has_special_values())


def write(
    texts: Mapping[str, str], folder: Path, binary: Mapping[str, bytes | Callable[[Path], None]] | None = None,
    own: Collection[str] = frozenset(OWN_FILES), is_ours: Callable[[Path], bool] | None = None,
) -> None:  # fmt: skip
    """Write into a folder beside the target and rename it into place at the end.

    What is large writes itself. A folder that is there is replaced if it is one of ours and has no other files than
    `own`."""
    try:
        # A link stays a link: what it leads to is written.
        place = folder.resolve()
        _refuse_foreign(folder, place, own, is_ours or _is_ours)
        place.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_beside(place) as draft:
            for name, text in texts.items():
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            for name, data in (binary or {}).items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                if isinstance(data, bytes):
                    (draft / name).write_bytes(data)
                else:
                    data(draft / name)
            _swap(draft, place)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CompileError(str(folder), f"cannot be written: {reason}", "choose another -o") from None


def check_place(folder: Path) -> None:
    """Refuse a place that cannot be written, before anybody works for it."""
    place = folder.resolve()
    _refuse_foreign(folder, place, {path.name for path in place.iterdir()} if _is_ours(place) else (), _is_ours)


def _refuse_foreign(shown: Path, folder: Path, own: Collection[str], is_ours: Callable[[Path], bool]) -> None:
    """Whatever stands where the folder goes is replaced, so it must be empty or one of ours."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise CompileError(str(shown), "exists and is not a folder", "choose another -o")
    names = {path.name for path in folder.iterdir()}
    foreign = sorted(names.difference(own)) if is_ours(folder) else sorted(names)
    if foreign:
        listed = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise CompileError(
            str(shown), f"exists and holds other files: {listed}", "choose another -o, or empty it first"
        )
    if folder in (Path.cwd(), *Path.cwd().parents):
        raise CompileError(str(shown), "you are inside this folder, it cannot be replaced", "choose another -o")


def _is_ours(folder: Path) -> bool:
    try:
        return (folder / "CMakeLists.txt").read_text(errors="replace").startswith(example.MARKER)
    except OSError:
        return False


@contextlib.contextmanager
def _temporary_beside(folder: Path):  # type: ignore[no-untyped-def]
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    os.chmod(draft, 0o755)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _swap(draft: Path, folder: Path) -> None:
    """Put the draft where the folder is; an old one is moved away first and deleted last."""
    if not folder.exists():
        draft.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    folder.rename(old / "old")
    try:
        draft.rename(folder)
    except BaseException:
        (old / "old").rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
