"""`tilewright accelerator new`: a folder that runs at once."""

from __future__ import annotations

from pathlib import Path

from tilewright.accelerator.check_declaration import IDENTIFIER
from tilewright.accelerator.folder import C_MODEL, DECLARATION, PYTHON_MODEL
from tilewright.codegen.folder import write
from tilewright.errors import CompileError

TEMPLATES = Path(__file__).parent / "skeleton"


def new_folder(name: str, folder: Path, in_c: bool) -> list[Path]:
    """The files that were written."""
    if not IDENTIFIER.fullmatch(name):
        raise CompileError(f"accelerator '{name}'", "is not a C name", "use lower-case letters, digits and underscores")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CompileError(str(folder), "exists and is not empty", "choose another name or --output")
    files = (DECLARATION, C_MODEL if in_c else PYTHON_MODEL)
    texts = {
        file: (TEMPLATES / file).read_text().replace("NAME", name).replace("UPPER", name.upper()) for file in files
    }
    write(texts, folder)
    return [folder / file for file in files]
