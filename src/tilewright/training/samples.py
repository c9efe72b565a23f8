"""Samples and labels of a user, as the inputs of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.arrays import convert, match, read_npz
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.training.batches import refuse_not_finite
from tilewright.training.labels import check_labels
from tilewright.training.reading import batch_of


@dataclass(frozen=True)
class Samples:
    """All samples, by the names of the inputs of a step; the label is the last of them."""

    arrays: Mapping[str, Array]
    """Samples along the first axis, each of the shape that a step has for one."""
    batch: int
    """How many a step takes."""

    @property
    def count(self) -> int:
        return len(next(iter(self.arrays.values())))

    def step(self, chosen: Sequence[int], train: Graph) -> dict[str, Array]:
        """The inputs of a step."""
        return {
            name: np.ascontiguousarray(array[list(chosen)]).reshape(train.types[name].shape)
            for name, array in self.arrays.items()
        }

    def parted(self, held: int) -> tuple[Samples, Samples | None]:
        """Without the given number of last samples, and those samples, if there are any."""
        left = self.count - held
        if held < 0 or left < self.batch or 0 < held < self.batch:
            what = f"leaves {max(left, 0)} of {self.count} samples, a step takes {self.batch}"
            raise CompileError(f"--held-out {held}", what, "hold out fewer" if left < self.batch else "hold out more")
        first, last = (
            {name: array[part] for name, array in self.arrays.items()} for part in (slice(left), slice(left, None))
        )
        return Samples(first, self.batch), Samples(last, self.batch) if held else None

    def batches(self, seed: int | None = None) -> Iterator[list[int]]:
        """Numbers of samples, a step's together; in another order with a seed. What fills no step is left out."""
        order = np.arange(self.count) if seed is None else np.random.default_rng(seed).permutation(self.count)
        for start in range(0, self.count - self.batch + 1, self.batch):
            yield order[start : start + self.batch].tolist()


def read_samples(data: Path, labels: Path | None, train: Graph) -> Samples:
    """Both files; without labels, samples are what the network is to give again."""
    *inputs, label = train.inputs
    batch = batch_of(train)
    given = match(inputs, read_npz(data), f"{data}: samples")
    arrays = {name: _fitting(given[name], train, name, batch, data) for name in inputs}
    if labels is None:
        arrays[label] = _again(arrays, train, label, batch)
    else:
        found = read_npz(labels)
        array = found[label] if label in found else next(iter(found.values()), np.zeros(0))
        arrays[label] = _fitting(array, train, label, batch, labels)
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{count} of '{name}'" for name, count in counts.items())
        raise CompileError(str(labels or data), f"samples and labels are not as many: {said}", "give each a label")
    if min(counts.values()) < batch:
        raise CompileError(
            str(data), f"has {min(counts.values())} samples, a step takes {batch}", "give more, or a smaller --batch"
        )
    check_labels(train, arrays, str(labels))
    return Samples(arrays, batch)


def _again(arrays: Mapping[str, Array], train: Graph, label: str, batch: int) -> Array:
    for array in arrays.values():
        if array[0].size * batch == train.types[label].elements and train.types[label].dtype == "float32":
            return array
    raise CompileError("--labels", "are needed: samples are not of the shape of the output", "--labels labels.npz")


def _fitting(array: Array, train: Graph, name: str, batch: int, path: Path) -> Array:
    """Samples in the type of an input, whose axis of a batch they may have or not."""
    kind = train.types[name]
    wanted = kind.elements // batch
    if array.ndim < 1 or not len(array) or math.prod(array.shape[1:]) != wanted:
        shape = "x".join(map(str, array.shape)) or "scalar"
        what = f"'{name}' has shape {shape}; a sample of it has {wanted} elements, behind an axis of samples"
        raise CompileError(str(path), what, "stack the samples along the first axis")
    refuse_not_finite(array, str(path), f"'{name}'")
    shaped = array.reshape(len(array), *(kind.shape[1:] if math.prod(kind.shape[1:]) == wanted else (wanted,)))
    return convert(shaped, type(kind)(kind.dtype, shaped.shape), str(path), name)
