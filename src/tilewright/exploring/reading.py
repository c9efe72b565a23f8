"""Reads a study: a TOML file, or the same as a mapping. Everything that is wrong with it is said at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tilewright import targets
from tilewright.errors import CompileError, raise_all
from tilewright.exploring.axes import (
    ACCELERATOR,
    BITS,
    FOLDER_AXES,
    MEMORY,
    PARAMETER,
    Value,
    axis_names,
    is_axis,
    named_folders,
    nearest,
    value_of,
    value_problem,
)
from tilewright.exploring.columns import is_metric, metric_names
from tilewright.exploring.study import FILES, OBJECTIVES, SECONDS, Study, StudyModel, Sweep
from tilewright.frontends.model_files import is_model
from tilewright.run.compare import DEFAULT_TOLERANCE
from tilewright.target.toml_file import read_toml

MODELS, TARGETS, SWEEP = "models", "targets", "sweep"
GENERAL = ("name", "seconds", "tolerance", "objectives")
"""Keys that are no part of a sweep."""
FAMILIES = (MEMORY.rstrip("."), PARAMETER.rstrip("."))
MODEL_FIELDS = tuple(field.name for field in fields(StudyModel))
MOST_POINTS = 10_000


def read_study(given: str | Path | Mapping[str, Any] | Study) -> Study:
    """Paths in a file are taken from its folder, those in a mapping from the current one."""
    if isinstance(given, Study):
        return given
    if isinstance(given, Mapping):
        return _Reader("study", Path()).study(given, "study")
    path = Path(given)
    if is_model(path):
        hint = f'write a study, for example study.toml with models = ["{path.name}"] and targets = ["cortex-m4"]'
        raise CompileError(str(path), "is a model, not a study", hint)
    return _Reader(str(path), path.parent).study(read_toml(path, "study", "docs/explore.md shows a study"), path.stem)


class _Reader:
    def __init__(self, where: str, base: Path) -> None:
        self.where, self.base = where, base
        self.errors: list[CompileError] = []

    def study(self, given: Mapping[str, Any], name: str) -> Study:
        common = {key: value for key, value in given.items() if key not in (*GENERAL, SWEEP)}
        self._check_keys(common, "")
        shared = self._flat(common, "")
        sweeps = tuple(
            self._sweep(shared | self._flat(own, place), place) for place, own in self._sweeps(given.get(SWEEP, {}))
        )
        found = Study(
            self._text(given.get("name", name), "name"),
            sweeps,
            self._number(given.get("seconds", SECONDS), "seconds"),
            self._number(given.get("tolerance", DEFAULT_TOLERANCE), "tolerance", least=0.0),
            self._objectives(given.get("objectives", OBJECTIVES)),
        )
        raise_all(self.errors)
        count = sum(math.prod(map(len, (s.models, s.targets, *s.axes.values()))) for s in sweeps)
        if count > MOST_POINTS:
            raise CompileError(self.where, f"has {count:,} points", f"at most {MOST_POINTS:,}: sweep over less")
        return found

    # ---- sweeps ----

    def _sweeps(self, given: object) -> list[tuple[str, Mapping[str, Any]]]:
        """What each sweep says, and how it is called in errors; a study without any is one itself."""
        listed = given if isinstance(given, list) else [given]
        if not listed or not all(isinstance(one, Mapping) for one in listed):
            self._wrong(SWEEP, "is not a table of what is swept", "write [[sweep]] and lines like cores = [1, 2, 4]")
            return []
        places = [f"sweep {number}, " if len(listed) > 1 else "" for number in range(1, len(listed) + 1)]
        for place, one in zip(places, listed, strict=True):
            self._check_keys(one, place or "sweep, ")
        return list(zip(places, listed, strict=True))

    def _sweep(self, given: Mapping[str, Any], place: str) -> Sweep:
        axes = {name: self._values(name, values, place) for name, values in given.items() if is_axis(name)}
        models = self._models(given.get(MODELS), place)
        self._check_samples(models, axes, place)
        return Sweep(models, self._targets(given.get(TARGETS), place), axes, self._folders(axes, place))

    def _check_keys(self, given: Mapping[str, Any], place: str) -> None:
        known = [MODELS, TARGETS, *axis_names(), *([] if place else [*GENERAL, SWEEP])]
        for key in given:
            if key not in (MODELS, TARGETS, *FAMILIES) and not is_axis(key):
                self._wrong(f"{place}{key}", "is unknown", nearest(key, known))

    def _flat(self, given: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Tables of families, `memory.l2 = [...]`, as axes of their own."""
        found: dict[str, Any] = {}
        for key, value in given.items():
            if key not in FAMILIES:
                found[key] = value
            elif not isinstance(value, Mapping):
                self._wrong(f"{place}{key}", "has no name", f"write {key}.NAME = [...]")
            elif not is_axis(f"{key}.x"):
                self._wrong(f"{place}{key}", "is unknown", nearest(key, axis_names()))
            else:
                found |= {f"{key}.{name}": values for name, values in value.items()}
        return found

    def _values(self, name: str, given: object, place: str) -> tuple[Value, ...]:
        found = []
        for one in given if isinstance(given, list | tuple) else [given]:
            value = value_of(name, one)
            problem = "is not a value of an axis" if value is None else value_problem(name, value)
            if value is None or problem:
                self._wrong(f"{place}{name} = {one!r}", problem, "give one value, or a list of them")
            else:
                found.append(value)
        if not found and given == []:
            self._wrong(f"{place}{name}", "has no values", "give one value, or a list of them")
        return tuple(dict.fromkeys(found))

    def _folders(self, axes: Mapping[str, tuple[Value, ...]], place: str) -> dict[str, str]:
        """Of accelerators and instructions: as they are called, and where they lie."""
        found = {}
        for axis in FOLDER_AXES:
            for name in (name for value in axes.get(axis, ()) for name in named_folders(axis, value)):
                found[name] = str(self.base / name)
                if not Path(found[name]).is_dir():
                    hint = "paths are taken from the folder of the study"
                    self._wrong(f"{place}{axis} = {name!r}", f"there is no folder '{found[name]}'", hint)
        if ACCELERATOR not in axes and any(name.startswith(PARAMETER) for name in axes):
            self._wrong(f"{place}{PARAMETER}NAME", "there is no accelerator", f'for example {ACCELERATOR} = "FOLDER"')
        return found

    def _targets(self, given: object, place: str) -> tuple[str, ...]:
        names = given if isinstance(given, list | tuple) else [given] if given is not None else []
        if not names:
            self._wrong(f"{place}{TARGETS}", "are missing", f'for example {TARGETS} = ["generic"]')
        known = [*targets.names(), *filter(targets.has_core, targets.board_names())]
        for name in names:
            if name not in known:
                self._wrong(f"{place}{TARGETS} = {name!r}", "is unknown", nearest(str(name), known))
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    # ---- models ----

    def _models(self, given: object, place: str) -> tuple[StudyModel, ...]:
        listed = given if isinstance(given, list | tuple) else [given] if given is not None else []
        if not listed:
            self._wrong(f"{place}{MODELS}", "are missing", f'for example {MODELS} = ["model.onnx"]')
        found = [model for one in listed if (model := self._model(one, place)) is not None]
        names = [model.name for model in found]
        for name in sorted({name for name in names if names.count(name) > 1}):
            hint = 'name them: models = [{file = "...", name = "..."}]'
            self._wrong(f"{place}{MODELS}", f"{names.count(name)} are called {name}", hint)
        return tuple(found)

    def _model(self, given: object, place: str) -> StudyModel | None:
        said: Mapping[str, Any] = {"file": str(given)} if isinstance(given, str | Path) else {}
        said = given if isinstance(given, Mapping) else said
        where = f"{place}{MODELS}"
        if not isinstance(said.get("file"), str | Path):
            self._wrong(where, f"{given!r} is no file", 'write "model.onnx" or {file = "model.onnx", name = "..."}')
            return None
        for key in said:
            if key not in MODEL_FIELDS:
                self._wrong(f"{where}, {key}", "is unknown", nearest(key, MODEL_FIELDS))
        return self._read_model(said, where)

    def _read_model(self, said: Mapping[str, Any], where: str) -> StudyModel | None:
        paths = {key: str(self.base / str(said[key])) for key in FILES if said.get(key)}
        missing = [path for path in paths.values() if not Path(path).exists()]
        for path in missing:
            self._wrong(where, f"there is no file '{path}'", "paths are taken from the folder of the study")
        tables = {key: said.get(key, {}) for key in ("dims", "dtypes", "shapes")}
        for key, table in tables.items():
            if not isinstance(table, Mapping):
                self._wrong(f"{where}, {key}", "is not a table", f"for example {key} = {{x = 1}}")
                return None
        shapes = {name: self._shape(name, sizes, where) for name, sizes in tables["shapes"].items()}
        name = self._text(said.get("name", Path(paths["file"]).stem), f"{where}, name")
        rounding = self._text(said.get("tflite_rounding", ""), f"{where}, tflite_rounding")
        return StudyModel(
            name, **paths, dims=tables["dims"], dtypes=tables["dtypes"], shapes=shapes, tflite_rounding=rounding
        )

    def _shape(self, name: str, given: object, where: str) -> tuple[int, ...]:
        sizes = given if isinstance(given, list | tuple) else [given]
        if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
            hint = f"for example shapes = {{{name} = [1, 3, 48, 192]}}"
            self._wrong(f"{where}, shapes, {name} = {given!r}", "is not a list of whole numbers", hint)
            return ()
        return tuple(sizes)

    def _check_samples(self, models: Sequence[StudyModel], axes: Mapping[str, object], place: str) -> None:
        for model in models if BITS in axes else ():
            if not model.samples:
                hint = f'give it samples: models = [{{file = "{Path(model.file).name}", samples = "samples.npz"}}]'
                self._wrong(f"{place}{BITS}", f"model {model.name} is not quantised here", hint)

    # ---- plain values ----

    def _objectives(self, given: object) -> tuple[str, ...]:
        names = tuple(given) if isinstance(given, list | tuple) else (given,)
        for name in names:
            if not isinstance(name, str) or not is_metric(name) or name.endswith("*"):
                self._wrong(f"objectives = {name!r}", "is no column", nearest(str(name), metric_names()))
        return tuple(map(str, names))

    def _text(self, given: object, key: str) -> str:
        if not isinstance(given, str):
            self._wrong(f"{key} = {given!r}", "is not a text", 'write it between quotes: "..."')
        return str(given)

    def _number(self, given: object, key: str, least: float | None = None) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            self._wrong(f"{key} = {given!r}", "is not a number")
            return 1.0
        if given <= 0 if least is None else given < least:
            self._wrong(f"{key} = {given!r}", "is not above 0" if least is None else f"is below {least:g}")
        return float(given)

    def _wrong(self, place: str, what: str, hint: str = "") -> None:
        error = CompileError(f"{self.where}: {place}", what, hint)
        if all(error.as_dict() != other.as_dict() for other in self.errors):
            self.errors.append(error)
