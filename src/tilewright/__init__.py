"""Any trained network in, bare-metal C out.

>>> import tilewright as tw
>>> program = tw.compile("model.onnx")
>>> result = program.run({"input": array})

Everything heavy is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tilewright.errors import CompileError, InternalError
from tilewright.version import VERSION

if TYPE_CHECKING:
    from tilewright import ops, targets
    from tilewright.analysis.costs import Analysis, analyze
    from tilewright.exploring.explore import explore
    from tilewright.language.model import LanguageModel
    from tilewright.program import Program
    from tilewright.program import compile_model as compile
    from tilewright.report.page.write_report import write_report
    from tilewright.run.compare import Agreement
    from tilewright.run.result import Result
    from tilewright.target.settings import Settings
    from tilewright.training.losses import CrossEntropy, MeanSquares
    from tilewright.training.optimizers import SGD, Adam, AdamW
    from tilewright.training.train import train

__version__ = VERSION

__all__ = [
    "SGD", "Adam", "AdamW", "Agreement", "Analysis", "CompileError", "CrossEntropy", "InternalError", "LanguageModel",
    "MeanSquares", "Program", "Result", "Settings", "analyze", "compile", "explore", "ops", "targets", "train",
    "write_report",
]  # fmt: skip

_HOMES = {
    "Agreement": "run.compare.Agreement", "Analysis": "analysis.costs.Analysis", "analyze": "analysis.costs.analyze",
    "LanguageModel": "language.model.LanguageModel", "Program": "program.Program", "Result": "run.result.Result",
    "compile": "program.compile_model", "explore": "exploring.explore.explore",
    "SGD": "training.optimizers.SGD", "Adam": "training.optimizers.Adam", "AdamW": "training.optimizers.AdamW",
    "CrossEntropy": "training.losses.CrossEntropy", "MeanSquares": "training.losses.MeanSquares",
    "Settings": "target.settings.Settings", "train": "training.train.train",
    "write_report": "report.page.write_report.write_report",
}  # fmt: skip


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted([*__all__, "__version__", "__doc__"])


def __getattr__(name: str) -> Any:
    """The public names that are not loaded yet."""
    if name in ("ops", "targets"):
        return importlib.import_module(f"tilewright.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].rpartition(".")
    return getattr(importlib.import_module(f"tilewright.{module}"), attribute)
