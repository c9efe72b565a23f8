"""A file of what a training graph of another tool is run with: weights once, data and labels for every step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.arrays import convert, read_npz
from tilewright.ir.types import Array, TensorType
from tilewright.records import dataclass

MORE = re.compile(r"mb(\d+)_(.+)")
"""Arrays of further steps."""
STEPS, ACCUMULATED, DIFFERENT = "meta_n_batches", "meta_n_accum", "meta_data_size"
LIKE = "the arrays are arr_0000, arr_0001, ... in the order of the inputs, and mb1_arr_0000, ... of further steps"


@dataclass(frozen=True)
class Batches:
    """What such a file holds; arrays of a step are in the order of the network's first inputs."""

    path: Path
    once: Sequence[Array]
    """Of all inputs that have a value in the file, in their order: those of the first step come first."""
    further: Sequence[Sequence[Array]]
    """Data of the steps after the first."""
    steps: int
    accumulated: int
    """Steps between two updates."""

    @property
    def data_inputs(self) -> int | None:
        """How many inputs each step is given; None where there is a single step, which does not say."""
        return len(self.further[0]) if self.further else None

    def of_steps(self, types: Mapping[str, TensorType]) -> list[dict[str, Array]]:
        """The inputs of all steps; data that is shorter begins anew."""
        given = [self.once[: len(types)], *self.further]
        return [self._of_step(types, given[step % len(given)], step) for step in range(self.steps)]

    def _of_step(self, types: Mapping[str, TensorType], arrays: Sequence[Array], step: int) -> dict[str, Array]:
        if len(arrays) != len(types):
            what = f"step {step} has {len(arrays)} arrays, the network has {len(types)} inputs for each step"
            raise CompileError(str(self.path), f"{what}: {', '.join(types)}", LIKE)
        found = {}
        for (name, kind), array in zip(types.items(), arrays, strict=True):
            found[name] = fitting(array, kind, str(self.path), f"'{name}' of step {step}")
            refuse_not_finite(found[name], str(self.path), f"'{name}' of step {step}")
        return found


def fitting(array: Array, kind: TensorType, where: str, name: str) -> Array:
    """The array in the type that the network has."""
    if array.shape != kind.shape:
        found = "x".join(map(str, array.shape)) or "scalar"
        wanted = "x".join(map(str, kind.shape)) or "scalar"
        raise CompileError(
            where, f"{name} has shape {found}, the network needs {wanted}", "do both files fit together?"
        )
    return convert(array, kind, where, name)


def refuse_not_finite(array: Array, where: str, name: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        count = int(np.count_nonzero(~np.isfinite(array)))
        raise CompileError(where, f"{name} has {count} elements that are infinite or not a number", "mend the data")


def read_batches(path: Path) -> Batches:
    arrays = read_npz(path)
    once = [array for name, array in arrays.items() if not name.startswith("meta_") and not MORE.fullmatch(name)]
    if not once:
        raise CompileError(str(path), "holds no array of a first step", LIKE)
    further = _further(arrays, path)
    steps = _number(arrays, STEPS, 1 + len(further), path)
    accumulated = _number(arrays, ACCUMULATED, 1, path)
    different = _number(arrays, DIFFERENT, 1 + len(further), path)
    if steps % accumulated:
        what = f"{STEPS} is {steps}, which is no multiple of the {accumulated} steps of {ACCUMULATED}"
        raise CompileError(str(path), what, "the last update would be left out: give as many steps as updates need")
    return Batches(path, once, further[: different - 1], steps, accumulated)


def _further(arrays: Mapping[str, Array], path: Path) -> list[list[Array]]:
    found: dict[int, list[Array]] = {}
    for name, array in arrays.items():
        if match := MORE.fullmatch(name):
            found.setdefault(int(match[1]), []).append(array)
    for number in range(1, len(found) + 1):
        if number not in found:
            raise CompileError(str(path), f"has arrays of {len(found)} further steps, but none of step {number}", LIKE)
    return [found[number] for number in sorted(found)]


def _number(arrays: Mapping[str, Array], name: str, default: int, path: Path) -> int:
    if name not in arrays:
        return default
    value = arrays[name].reshape(-1)
    if value.size != 1 or not float(value[0]).is_integer() or not 1 <= int(value[0]) <= 10**6:
        raise CompileError(str(path), f"{name} is {value.tolist()}", "it is one number from 1 to a million")
    return int(value[0])
