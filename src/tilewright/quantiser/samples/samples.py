"""Samples of a network's inputs: checked once, then given out one at a time, so that any number of them fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.arrays import REAL_NUMBERS, arrays_of, match
from tilewright.ir.graph import Graph
from tilewright.ir.length import numbers_of
from tilewright.ir.types import STORED, Array, Shape, TensorType, is_integer, limits
from tilewright.quantiser.samples.sample_file import FileSource, sources_of_file
from tilewright.records import dataclass

Feeds = dict[str, Array]
"""One array for each input of the network."""

FEWEST = 1


class Source(Protocol):
    """One array with an axis of samples in front, which need not be in memory."""

    @property
    def shape(self) -> Shape: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def rows(self, first: int, step: int) -> Iterator[Array]:
        """Sample `first` and every `step`th after it."""
        ...


@dataclass(frozen=True)
class ArraySource:
    array: Array

    @property
    def shape(self) -> Shape:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def rows(self, first: int, step: int) -> Iterator[Array]:
        yield from self.array[first::step]


@dataclass(frozen=True)
class Joined:
    """Sequences of calls as one after the other: the first two axes of a source are one."""

    source: Source

    @property
    def shape(self) -> Shape:
        sequences, steps, *others = self.source.shape
        return sequences * steps, *others

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    def rows(self, first: int, step: int) -> Iterator[Array]:
        calls = (call for sequence in self.source.rows(0, 1) for call in sequence)
        yield from islice(calls, first, None, step)


@dataclass(frozen=True)
class Samples:
    sources: Mapping[str, Source]
    """By the names of the inputs; of sequences of calls, by those of states too."""
    types: Mapping[str, TensorType]
    count: int
    steps: int = 1
    """Calls that follow one another, each of which is a sample; with 1 every call begins from the initial state."""

    def every(self, first: int = 0, step: int = 1) -> Iterator[tuple[int, Feeds]]:
        """The number and the inputs of sample `first` and every `step`th after it."""
        walks = {name: source.rows(first, step) for name, source in self.sources.items()}
        for number in range(first, self.count, step):
            yield number, {name: self._input(name, next(walk), number) for name, walk in walks.items()}

    def sequences(self, first: int = 0, step: int = 1) -> Iterator[tuple[int, list[Feeds]]]:
        """The number and the calls of sequence `first` and every `step`th after it."""
        calls = (feeds for _, feeds in self.every())
        for number in range(self.count // self.steps):
            sequence = list(islice(calls, self.steps))
            if number >= first and (number - first) % step == 0:
                yield number, sequence

    def spread(self, most: int) -> list[Feeds]:
        """At most so many samples, from all over the set."""
        step = max(1, -(-self.count // most))
        return [feeds for _, feeds in self.every(0, step)]

    def _input(self, name: str, row: Array, number: int) -> Array:
        kind, where = self.types[name], f"sample {number}, input '{name}'"
        if kind.dtype == "float32" or kind.dtype in STORED:
            found = np.asarray(row, kind.element)
            wrong = ~np.isfinite(found)
            if wrong.any():
                what = f"{int(wrong.sum())} of {wrong.size} values are not finite, first {found[wrong].flat[0]}"
                raise CompileError(where, what, "leave the sample out, or fix its preprocessing")
            return found.reshape(kind.shape)
        _check_integers(row, kind, where)
        return np.asarray(row, kind.element).reshape(kind.shape)


def samples_of(graph: Graph, given: Any) -> Samples:
    """What a user gave: a file, arrays by name or in order, or one array; each has an axis of samples in front."""
    if isinstance(given, Samples):
        return given
    found = _sources(given)
    types = numbers_of({name: graph.types[name] for name in graph.inputs})
    if not types:
        raise CompileError("samples", "the network has no inputs", "there is nothing to calibrate")
    _check_names(list(found), list(types))
    placeholders = {name: np.broadcast_to(np.int8(0), source.shape) for name, source in found.items()}
    matched = match(list(types), placeholders, "samples")
    names = {id(array): name for name, array in placeholders.items()}
    sources = {name: found[names[id(array)]] for name, array in matched.items()}
    for name, source in sources.items():
        _check_type(source, types[name], name)
    steps = _steps({name: source.shape for name, source in sources.items()}, types) if graph.states else 1
    if steps > 1:
        sources = {name: Joined(source) for name, source in sources.items()}
    for name, source in sources.items():
        _check_shape(source.shape, types[name].shape, name)
    return Samples(sources, types, _count({name: source.shape[0] for name, source in sources.items()}), steps)


def _check_names(found: Sequence[str], inputs: Sequence[str]) -> None:
    """An array that no input takes may be a name mistyped, or belong elsewhere."""
    extra = [name for name in found if name not in inputs]
    if len(extra) == len(found) > len(inputs):
        raise CompileError(
            "samples", f"{len(found)} arrays ({', '.join(found[:8])}) for {len(inputs)} inputs ({', '.join(inputs)})",
            "name the arrays as the model names its inputs",
        )  # fmt: skip
    if extra and set(inputs) <= set(found):
        raise CompileError(
            f"samples '{extra[0]}'", f"the network has no such input; it has {', '.join(inputs)}",
            "leave the array out; classes of samples go into a file of their own, --labels",
        )  # fmt: skip


def _steps(shapes: Mapping[str, Shape], types: Mapping[str, TensorType]) -> int:
    """How many calls follow one another, where all inputs have an axis of them behind that of samples."""
    found = {shape[1] for name, shape in shapes.items() if shape[2:] in _shapes(types[name].shape) and len(shape) > 1}
    has_axis = [shape[1:] not in _shapes(types[name].shape) for name, shape in shapes.items()]
    return found.pop() if len(found) == 1 and all(has_axis) else 1


def _sources(given: Any) -> dict[str, Source]:
    if isinstance(given, str | Path):
        files: dict[str, FileSource] = sources_of_file(Path(given))
        return dict(files)
    arrays = arrays_of(given, "samples") if given is not None else {}
    if not arrays:
        raise CompileError("samples", "there are none", "give an .npz file, or arrays with an axis of samples in front")
    return {name: ArraySource(array) for name, array in arrays.items()}


def _shapes(wanted: Shape) -> list[Shape]:
    """Those that a sample may have."""
    return [*dict.fromkeys((wanted, wanted[1:] if wanted and wanted[0] == 1 else wanted))]


def _check_shape(found: Shape, wanted: Shape, name: str) -> None:
    """A sample has the input's shape; where the network takes one at a time, its axis for that may be left out."""
    if len(found) and found[1:] in _shapes(wanted):
        return
    shapes = " or ".join(f"Nx{'x'.join(map(str, shape))}" for shape in _shapes(wanted))
    raise CompileError(
        f"samples '{name}'", f"have shape {'x'.join(map(str, found)) or 'scalar'}, the network needs {shapes}",
        "put an axis of samples in front of the input's own axes",
    )  # fmt: skip


def _check_type(source: Source, kind: TensorType, name: str) -> None:
    dtype, where = source.dtype, f"samples '{name}'"
    if dtype.kind not in "biuf" and dtype.name not in STORED:
        raise CompileError(where, f"hold {dtype.name}, not numbers", f"save them as {kind.dtype}")
    if is_integer(kind.dtype) and dtype.kind == "f":
        raise CompileError(where, f"hold {dtype.name}, the network needs {kind.dtype}", REAL_NUMBERS)


def _check_integers(row: Array, kind: TensorType, where: str) -> None:
    low, high = limits(kind.dtype) if is_integer(kind.dtype) else (0, 1)
    if row.size and (row.min() < low or row.max() > high):
        raise CompileError(
            where,
            f"has values from {row.min()} to {row.max()}; {kind.dtype} holds {low} to {high}",
            "scale the samples as in training",
        )


def _count(counts: Mapping[str, int]) -> int:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"'{name}': {count}" for name, count in counts.items())
        raise CompileError("samples", f"inputs have different numbers of samples ({listed})", "give all of each sample")
    count = next(iter(counts.values()))
    if count < FEWEST:
        raise CompileError("samples", "there are 0 of them", "a hundred typical ones are a good start")
    return count
