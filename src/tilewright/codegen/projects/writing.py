"""Projects on disk: whole or not at all, and never over what somebody has changed or put there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tilewright.codegen import folder
from tilewright.codegen.projects.project import Content
from tilewright.errors import CompileError
from tilewright.version import VERSION

MANIFEST = "tilewright.json"
"""What Tilewright has written, with a hash of each file."""


def write(content: Mapping[str, Content], place: Path) -> list[str]:
    """The names of the files; a project that is there is replaced if nobody has changed it."""
    _refuse_changed(place)
    texts = {name: text for name, text in content.items() if isinstance(text, str)}
    binary = {name: data for name, data in content.items() if isinstance(data, bytes)}
    hashes = {name: _hash(_bytes(data)) for name, data in sorted(content.items())}
    manifest = {"generated_by": f"Tilewright {VERSION}", "files": hashes}
    texts[MANIFEST] = json.dumps(manifest, indent=1) + "\n"
    top = {name.partition("/")[0] for name in _written(place)} | {MANIFEST}
    folder.write(texts, place, binary, own=top, is_ours=lambda found: bool(_written(found)))
    return sorted([*texts, *binary])


def _refuse_changed(place: Path) -> None:
    written = _written(place)
    if not written:
        return
    found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    changed = [name for name in sorted(found & written.keys()) if _hash((place / name).read_bytes()) != written[name]]
    foreign = sorted(found - written.keys() - {MANIFEST})
    if changed or foreign:
        what = f"{changed[0]} was changed since" if changed else f"holds other files: {', '.join(foreign[:3])}"
        raise CompileError(
            str(place), f"was written by tilewright export, but {what}", "choose another -o, or move it away"
        )


def _written(place: Path) -> dict[str, str]:
    """What the manifest of a folder says; nothing where there is none."""
    try:
        files = json.loads((place / MANIFEST).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}


def _bytes(data: Content) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
