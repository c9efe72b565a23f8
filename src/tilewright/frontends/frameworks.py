"""Models of PyTorch, Keras, TensorFlow and JAX: which framework an object or a file belongs to, and its way to ONNX."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.exported import Exported
from tilewright.frontends.model_files import FRAMEWORKS, check_beginning
from tilewright.ir.arrays import Given

SAVED_MODEL = "saved_model.pb"
"""What makes a folder a SavedModel of TensorFlow."""

READERS = {"torch": "torch.model", "keras": "keras.model", "tensorflow": "keras.model", "jax": "jaxpr.model"}
"""The module of a folder beside this one that reads a framework's models."""

EXTRAS = {"torch": "torch", "keras": "tensorflow", "tensorflow": "tensorflow", "jax": "jax"}
"""What to install a framework with: `pip install tilewright[EXTRA]`."""

OWNERS = {
    "torch": "torch", "keras": "keras", "tensorflow": "tensorflow", "jax": "jax", "flax": "jax", "equinox": "jax",
    "haiku": "jax",
}  # fmt: skip
"""Packages whose classes make an object one of a framework's."""


def framework_of(model: Any) -> str | None:
    """The framework of an object or a file, or None where it is none's. Imports nothing."""
    if isinstance(model, str | Path):
        return _framework_of_file(Path(model))
    for package in _packages(type(model)):
        if package in OWNERS:
            return OWNERS[package]
    # A plain function can only be one of JAX: the others have no functions over arrays to export.
    return "jax" if callable(model) and not isinstance(model, type) else None


def _framework_of_file(path: Path) -> str | None:
    if (path / SAVED_MODEL).is_file():
        return "tensorflow"
    return FRAMEWORKS.get(path.suffix.lower())


def _packages(kind: type) -> Iterator[str]:
    """The packages of a class and of those that it derives from."""
    return (base.__module__.partition(".")[0] for base in kind.__mro__)


def exported(model: Any, example_inputs: Given | None, random_seed: int | None = None, folds: bool = True) -> Exported:
    """The model as an ONNX one; what is no framework's stays as it is. Modules of PyTorch draw random numbers
    themselves; of other frameworks they are operators of ONNX."""
    framework = framework_of(model)
    if framework is None:
        return Exported(_known(model), "")
    if isinstance(model, str | Path):
        check_beginning(Path(model))
    reader = importlib.import_module(f"tilewright.frontends.{READERS[framework]}")
    export: Callable[..., Exported] = reader.exported
    own = {"random_seed": random_seed, "folds": folds} if framework == "torch" else {}
    return export(model, example_inputs, **own)


def _known(model: Any) -> Any:
    """What the reader of ONNX takes: a path, bytes, or a loaded model."""
    if isinstance(model, str | Path | bytes) or "onnx" in _packages(type(model)) or hasattr(model, "graph"):
        return model
    raise CompileError(
        "model", f"is a {type(model).__name__}, which no front end reads",
        "give a file, an ONNX model, a torch.nn.Module, a Keras model or a JAX function",
    )  # fmt: skip


def require(framework: str, *packages: str) -> None:
    """Refuse with the command that installs what is missing."""
    missing = [name for name in packages if not _is_there(name)]
    if missing:
        raise CompileError(
            f"a {framework} model",
            f"needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            f"pip install 'tilewright[{EXTRAS[framework]}]'",
        )


def _is_there(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None
