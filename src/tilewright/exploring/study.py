"""A study as data: which models on which targets, with which settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, replace
from itertools import product
from typing import Any

from tilewright.exploring.axes import FOLDER_AXES, Value, named_folders
from tilewright.records import dataclass
from tilewright.run.compare import DEFAULT_TOLERANCE

SECONDS = 600.0
"""After which a point is given up, where a study says nothing else."""

OBJECTIVES = ("cycles", "planned_ram_bytes")
"""What the best points of a model are the best in, where a study says nothing else."""


@dataclass(frozen=True)
class StudyModel:
    """A model, and what must be said of it to compile, run and check it."""

    name: str
    """In rows."""
    file: str
    inputs: str = ""
    """An .npz file of what it is run with; random numbers without."""
    expect: str = ""
    """An .npz file of what it must give; what numpy computes without."""
    samples: str = ""
    """An .npz file of samples of a float model's inputs: it is quantised with them."""
    labelled: str = ""
    """An .npz file of inputs and their classes: its accuracy is counted."""
    dims: Mapping[str, int] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tflite_rounding: str = ""


FILES = ("file", "inputs", "expect", "samples", "labelled")
"""Fields of a model that are paths."""


@dataclass(frozen=True)
class Point:
    """One compilation, run and check."""

    model: StudyModel
    target: str
    settings: Mapping[str, Value]
    """By axis (`axes.py`)."""
    tolerance: float = DEFAULT_TOLERANCE
    folders: Mapping[str, str] = field(default_factory=dict)
    """Of accelerators and instructions: as the settings call them, and where they lie."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Point:
        return Point(**{**found, "model": StudyModel(**found["model"])})

    @property
    def paths(self) -> tuple[str, ...]:
        """Files and folders that it needs."""
        return (*(path for name in FILES if (path := getattr(self.model, name))), *self.folders.values())

    def with_files(self, places: Mapping[str, str]) -> Point:
        """This point, with its files in another place."""
        moved: dict[str, Any] = {name: places[path] for name in FILES if (path := getattr(self.model, name))}
        folders = {name: places[path] for name, path in self.folders.items()}
        return replace(self, model=replace(self.model, **moved), folders=folders)


@dataclass(frozen=True)
class Sweep:
    """Every model on every target with every combination of settings."""

    models: tuple[StudyModel, ...]
    targets: tuple[str, ...]
    axes: Mapping[str, tuple[Value, ...]]
    folders: Mapping[str, str] = field(default_factory=dict)
    """Of accelerators and instructions, as points have them."""

    def points(self, tolerance: float) -> Iterator[Point]:
        for model, target in product(self.models, self.targets):
            for values in product(*self.axes.values()):
                settings = dict(zip(self.axes, values, strict=True))
                used = [name for axis in FOLDER_AXES for name in named_folders(axis, settings.get(axis, ""))]
                yield Point(model, target, settings, tolerance, {name: self.folders[name] for name in used})


@dataclass(frozen=True)
class Study:
    name: str
    sweeps: tuple[Sweep, ...]
    seconds: float = SECONDS
    """After which a point is given up."""
    tolerance: float = DEFAULT_TOLERANCE
    """For floats, as of `tilewright run`."""
    objectives: tuple[str, ...] = OBJECTIVES

    @property
    def points(self) -> tuple[Point, ...]:
        """In the study's order, each once."""
        found: dict[str, Point] = {}
        for sweep in self.sweeps:
            for point in sweep.points(self.tolerance):
                found.setdefault(json.dumps(point.as_dict(), sort_keys=True), point)
        return tuple(found.values())

    @property
    def axes(self) -> tuple[str, ...]:
        """All that is said of settings, in the order of the study."""
        return tuple(dict.fromkeys(name for sweep in self.sweeps for name in sweep.axes))
