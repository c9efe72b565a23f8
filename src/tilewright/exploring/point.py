"""One point of a study: compiled, run and checked; whatever comes of it is a row."""

from __future__ import annotations

import errno
import time
import traceback
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, InternalError, printable
from tilewright.exploring.accuracy import accuracy_of
from tilewright.exploring.axes import BITS, FOLDER_AXES, settings_of
from tilewright.exploring.metrics import metrics_of
from tilewright.exploring.row import AGREES, DISAGREES, FAULT, REFUSED, DiskFull, Row
from tilewright.exploring.study import Point
from tilewright.program import compile_model
from tilewright.quantiser.quantise import Options
from tilewright.quantiser.widths import Width, Widths
from tilewright.run.result import Check

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE_WORDS = ("No space left", "NoSpaceLeft", "DiskQuota")
"""What compilers say of a full disk."""

FAULT_HINT = "this is a fault of Tilewright: `tilewright run` with the same settings says more"
LONGEST = 300
"""Characters of an unexpected exception's text that are kept."""


def row_of(point: Point) -> Row:
    """Raises `DiskFull` and nothing else."""
    start = time.perf_counter()
    try:
        status, reason, hint, metrics = _checked(point)
    except CompileError as error:
        said = error.as_dict()
        status, reason, hint, metrics = REFUSED, f"{said['where']}: {said['what']}", said["hint"], {}
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise DiskFull(str(error)) from error
        status, reason, hint, metrics = FAULT, _fault(error), FAULT_HINT, {}
    if status != AGREES and any(word in reason for word in NO_SPACE_WORDS):
        raise DiskFull(reason)
    metrics["seconds"] = time.perf_counter() - start
    return Row(point.model.name, point.target, point.settings, status, reason, hint, metrics)


def _checked(point: Point) -> tuple[str, str, str, dict[str, float]]:
    model, settings = point.model, settings_of(point.settings, point.folders)
    program = compile_model(
        model.file, model.inputs or None, point.target, dims=model.dims, dtypes=model.dtypes, shapes=model.shapes,
        tflite_rounding=model.tflite_rounding, settings=settings, **_quantising(point),
    )  # fmt: skip
    check = program.check(model.inputs or None, model.expect or None, tolerance=point.tolerance)
    metrics = metrics_of(program, check)
    metrics |= {"accuracy": accuracy_of(program, model.labelled)} if model.labelled else {}
    metrics |= {"area": 0.0} if _adds_nothing(point) else {}
    return *_verdict(check), metrics


def _adds_nothing(point: Point) -> bool:
    """The point without what others of its study have in addition."""
    return any(axis in point.settings for axis in FOLDER_AXES) and not point.folders


def _quantising(point: Point) -> dict[str, Any]:
    if not point.model.samples:
        return {}
    widths = Widths(Width(int(point.settings.get(BITS, Width().weights))))
    return {"quantise": point.model.samples, "quantise_options": Options(widths, processes=1)}


def _verdict(check: Check) -> tuple[str, str, str]:
    first = check.first_difference
    if first is None:
        return AGREES, "", ""
    what = first.remark or f"{first.mismatches} of {first.elements} elements differ, by up to {first.max_abs_error:.3g}"
    return DISAGREES, printable(f"output {first.name}: {what}"), "`tilewright run --per-layer` finds the layer"


def _fault(error: Exception) -> str:
    if isinstance(error, InternalError):
        return str(error)
    if isinstance(error, MemoryError):
        return "this machine does not have enough memory for the model"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "tilewright"
    return printable(f"{place}: {type(error).__name__}: {error}"[:LONGEST])
