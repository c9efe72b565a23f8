"""Python files of the user's: run, with what goes wrong in them shown by its line."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tilewright.errors import CompileError, InternalError, Terminated


def loaded(path: Path) -> ModuleType:
    """Run a file of the user's."""
    name = f"_tilewright_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CompileError(str(path), "cannot be read as Python", "give a file whose name ends with .py")
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    # Dataclasses look for their module there.
    sys.modules[name] = module
    try:
        with named(path):
            spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


@contextmanager
def named(path: Path) -> Iterator[None]:
    """What goes wrong in a file of the user's is shown with its line."""
    try:
        yield
    except (CompileError, InternalError, Terminated):
        raise
    except SyntaxError as error:
        text = f": {error.text.strip()}" if error.text else ""
        where = f"{error.filename or path}:{error.lineno}"
        raise CompileError(where, f"is not valid Python: {error.msg}{text}", "mend the line") from None
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise CompileError(where, f"{type(error).__name__}: {error}", "mend the line, or what it is given") from None
