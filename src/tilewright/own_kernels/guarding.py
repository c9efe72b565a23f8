"""Functions of the user's: what goes wrong in them is shown as theirs, with its line."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, InternalError, Refusal
from tilewright.own_kernels.declaration import OwnKernels
from tilewright.target.kernel import Kernel


def guarded(own: OwnKernels, path: Path) -> OwnKernels:
    """Kernels whose functions from the file at `path` are guarded; defaults stay what they are."""
    kernels = tuple(_guarded_kernel(kernel, path) for kernel in own.kernels)
    return replace(own, kernels=kernels, forms=_guarded(own.forms, path) if own.forms else None)


def _guarded_kernel(kernel: Kernel, path: Path) -> Kernel:
    if not isinstance(kernel, Kernel):
        return kernel
    given = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    theirs: dict[str, Any] = {name: _guarded(value, path) for name, value in given.items() if _is_theirs(value, path)}
    return replace(kernel, **theirs)


def _is_theirs(value: object, path: Path) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == str(path)


def _guarded(function: Callable[..., Any], path: Path) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (Refusal, CompileError, InternalError):
            raise
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
            where = f"{path}:{frames[-1].lineno}" if frames else str(path)
            where = f"{where}, {function.__name__}()"
            raise CompileError(where, f"{type(error).__name__}: {error}", "mend the function") from None

    return call
