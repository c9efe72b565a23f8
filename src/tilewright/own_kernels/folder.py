"""A folder of kernels: `kernels.py`, C sources, and headers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, InternalError
from tilewright.own_kernels.check import check_declaration
from tilewright.own_kernels.declaration import OwnKernels
from tilewright.own_kernels.guarding import guarded
from tilewright.records import dataclass
from tilewright.target.user_python import loaded

DECLARATION = "kernels.py"


@dataclass(frozen=True)
class KernelFolder:
    """What a folder holds."""

    folder: Path
    own: OwnKernels
    """With a name."""

    @property
    def files(self) -> dict[str, Path]:
        """Sources and headers, by their names."""
        return {path.name: path for path in sorted(self.folder.iterdir()) if path.suffix in (".c", ".h")}


def read_folder(words: str) -> KernelFolder:
    """`FOLDER`, or `FOLDER:parameter=value,...`."""
    place, parameters = _split(words)
    folder = Path(place).resolve()
    if not (folder / DECLARATION).is_file():
        what = f"has no {DECLARATION}" if folder.is_dir() else "is not a folder"
        raise CompileError(f"--kernels {place}", what, "docs/own_kernels.md shows one")
    own = guarded(_declared(folder / DECLARATION, parameters, place), folder / DECLARATION)
    found = KernelFolder(folder, replace(own, name=own.name or re.sub(r"\W", "_", folder.name)))
    check_declaration(found.own, str(folder / DECLARATION), found.files)
    return found


def _split(words: str) -> tuple[str, dict[str, str]]:
    """Values may be paths, so the first `:NAME=` begins the parameters."""
    split = re.fullmatch(r"(.*?):(\w+=.*)", words, re.DOTALL)
    if split is None:
        return words, {}
    found: dict[str, str] = {}
    for word in split[2].split(","):
        name, sign, value = word.partition("=")
        if not sign or not name or not value:
            raise CompileError(f"--kernels {words}", f"'{word}' is not NAME=VALUE", "for example :path=/opt/library")
        found[name] = value
    return split[1], found


def _declared(path: Path, given: dict[str, str], place: str) -> OwnKernels:
    module = loaded(path)
    made = getattr(module, "kernels", None)
    if callable(made):
        return _called(path, made, given, place)
    if given:
        raise CompileError(f"--kernels {place}", f"has no parameter '{next(iter(given))}'", "leave it out")
    return _checked(path, getattr(module, "KERNELS", None))


def _called(path: Path, made: Callable[..., Any], given: dict[str, str], place: str) -> OwnKernels:
    """A function that declares the kernels: its parameters are the folder's."""
    known = inspect.signature(made).parameters
    for name in given:
        if name not in known:
            raise CompileError(f"--kernels {place}", f"has no parameter '{name}'", f"it has {', '.join(known)}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise CompileError(f"--kernels {place}", f"needs {name}", f"--kernels {place}:{name}=...")
    try:
        return _checked(path, made(**given))
    except (CompileError, InternalError):
        raise
    except Exception as error:
        where = f"{path}, kernels({', '.join(given)})"
        raise CompileError(where, f"{type(error).__name__}: {error}", "mend it, or what it is given") from None


def _checked(path: Path, declared: object) -> OwnKernels:
    if not isinstance(declared, OwnKernels):
        raise CompileError(
            str(path),
            "does not define KERNELS",
            "KERNELS = OwnKernels([Kernel(...), ...]), or def kernels(parameter): return OwnKernels(...)",
        )
    return declared
