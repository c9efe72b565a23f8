"""Metrics from files: the classes of samples, or a function of the user's own."""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, unreadable
from tilewright.ir.types import Array
from tilewright.quantiser.cost.measure import Metric, accuracy


def accuracy_of_file(path: Path, count: int) -> Metric:
    """The share of samples whose first output is largest at the class that an .npy file gives."""
    try:
        labels = np.load(path, allow_pickle=False)
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, EOFError):  # numpy's own words advise to load what is not trusted
        raise CompileError(str(path), "is not an .npy file of classes", "write it with numpy.save") from None
    return accuracy(checked_labels(labels, count, str(path)))


def checked_labels(labels: Array, count: int, where: str = "labels") -> Array:
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu":
        raise CompileError(where, "are not whole numbers in one array", "save the class of each sample as int64")
    if labels.ndim > 1 and len(labels) != count == labels.shape[0] * labels.shape[1]:
        # Of sequences, as their samples are given.
        return labels.reshape(count, *labels.shape[2:])
    if labels.ndim < 1 or len(labels) != count:
        raise CompileError(
            where, f"are {len(labels) if labels.ndim else 1} for {count} samples", "give one for each sample"
        )
    return labels


def metric_of_file(name: str) -> Metric:
    """A function in a Python file, as FILE.py:FUNCTION."""
    file, _, function = name.rpartition(":")
    if not file or not function:
        raise CompileError(f"--metric {name}", "is not FILE.py:FUNCTION", "for example metric.py:accuracy")
    spec = importlib.util.spec_from_file_location("metric_of_user", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise CompileError(f"--metric {name}", f"there is no Python file '{file}'", "check the path")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        last = traceback.format_exception_only(error)[-1].strip()
        raise CompileError(f"--metric {name}", f"the file cannot be run: {last}", "run it by itself first") from None
    found = getattr(module, function, None)
    if not callable(found):
        raise CompileError(f"--metric {name}", f"'{file}' has no function '{function}'", "check the name")
    metric: Metric = found
    return metric
