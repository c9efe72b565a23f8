"""Folders of generated files, kept by their content."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.toolchain.compiler import cache_folder


@lru_cache(maxsize=256)
def generated(files: tuple[tuple[str, str], ...], kind: str) -> Path:
    """A folder with these files, below the folder of the cache that `kind` names."""
    digest = hashlib.sha256(repr(files).encode(errors="replace")).hexdigest()[:24]
    folder = cache_folder() / kind / digest
    try:
        for name, text in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                _replaced(path, text)
    except OSError as error:
        hint = "set TILEWRIGHT_CACHE to a writable folder"
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", hint) from None
    return folder


def _replaced(path: Path, text: str) -> None:
    """Whole or not at all: another process may be reading it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
