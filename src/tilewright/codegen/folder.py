"""The output folder: all its files as text, and writing them so that no half-written folder is ever left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tilewright.codegen import example
from tilewright.codegen.kernels import headers, instances, prototypes
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError
from tilewright.schedule import Schedule

MARKER = "CMakeLists.txt"
"""A folder that holds this beside network.h is one of ours and may be replaced."""


def files(schedule: Schedule, name: str = "") -> dict[str, str]:
    """Relative path -> text of every file of a compiled network."""
    writer = Writer(schedule, symbol_prefix(name or schedule.graph.name))
    used = instances(schedule.graph, schedule.calls)
    folder = schedule.target.folder
    texts = {
        "network.h": writer.header(),
        "network.c": writer.source(),
        "network_data.h": writer.data_header(),
        "network_data.c": writer.data(),
        "main.c": example.main(writer),
        "CMakeLists.txt": example.cmake(writer, used),
        "kernels/kernels.h": prototypes(used),
    }
    texts |= {f"kernels/{instance.file}": instance.text(folder) for instance in used}
    texts |= {f"kernels/{header}": text for header, text in headers(used, folder).items()}
    return dict(sorted(texts.items()))


def write(texts: Mapping[str, str], folder: Path) -> None:
    """Write into a folder beside the target and rename it into place at the end."""
    _refuse_foreign(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_beside(folder) as draft:
            for name, text in texts.items():
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="ascii", newline="\n")
            _swap(draft, folder)
    except OSError as error:
        raise CompileError(str(folder), f"cannot be written: {error.strerror or error}", "choose another -o") from None


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise CompileError(str(folder), "exists and is not a folder", "choose another -o")
    try:
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise CompileError(str(folder), f"cannot be read: {error.strerror or error}", "choose another -o") from None
    is_ours = (folder / MARKER).is_file() and (folder / "network.h").is_file()
    if not is_empty and not is_ours:
        raise CompileError(str(folder), "exists and holds other files", "choose another -o, or empty it first")


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
