"""Python files of the user's: run, with what goes wrong in them shown by its line."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from tilewright.errors import CompileError


def loaded(path: Path) -> ModuleType:
    """Run a file of the user's; what goes wrong in it is shown with its line."""
    name = f"_tilewright_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CompileError(str(path), "cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    # Dataclasses look for their module there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        raise CompileError(_line(path, error), f"{type(error).__name__}: {error}") from None
    finally:
        sys.dont_write_bytecode = written
    return module


def _line(path: Path, error: BaseException) -> str:
    """Where in the file it went wrong."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
