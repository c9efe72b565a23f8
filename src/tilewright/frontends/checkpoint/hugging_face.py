"""A folder in Hugging Face's format: `config.json`, and weights in one safetensors file or in several."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, raise_all
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.frontends.checkpoint.families import Family, family_of
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rotation import halves_from_part
from tilewright.frontends.checkpoint.safetensors_file import read_safetensors
from tilewright.ir.types import Array, Shape

CONFIG, WHOLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
MOST_ERRORS = 8
"""Shown at once."""


def read_folder(folder: Path) -> Checkpoint:
    config, family = _config(folder)
    tensors = _read(folder)
    lacks_prefix = family.prefix and not any(name.startswith(family.prefix) for name in tensors)
    reader = _Reader(str(folder), family, tensors, family.prefix if lacks_prefix else "")
    return Checkpoint(config, _in_halves(config, reader.weights(config)))


def _in_halves(config: Config, weights: dict[str, Array]) -> dict[str, Array]:
    """With pairs half a head apart, also where a part of each head is turned only."""
    rotary = config.rotary
    if rotary is None or not rotary.turned:
        return weights
    turned = ("attention.query.", "attention.key.")
    return {
        name: halves_from_part(value, rotary, config.head) if any(part in name for part in turned) else value
        for name, value in weights.items()
    }


def holds_weights(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (WHOLE, INDEX))


def _config(folder: Path) -> tuple[Config, Family]:
    path = folder / CONFIG
    options = Options(str(path), read_json(path))
    family = family_of(options)
    config = family.config(options)
    options.finish()
    config.check(str(path))
    return config, family


def read_json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise CompileError(str(path), what, "give a folder with config.json and model.safetensors") from None
    except (ValueError, RecursionError) as error:
        raise CompileError(str(path), f"is no JSON: {error}", "it may be truncated: get the file again") from None
    if not isinstance(found, dict):
        raise CompileError(str(path), f"holds a {type(found).__name__}, not an object", "check the file")
    return found


# ---- files --------------------------------------------------------------------------------------------------------


def _read(folder: Path) -> dict[str, Array]:
    """All tensors of a folder by name."""
    if (folder / WHOLE).is_file():
        return read_safetensors(folder / WHOLE)
    if not (folder / INDEX).is_file():
        others = sorted(path.name for path in folder.glob("*.bin"))[:3]
        hint = f"{', '.join(others)}: save them with save_pretrained(safe_serialization=True)" if others else ""
        raise CompileError(str(folder), f"has neither {WHOLE} nor {INDEX}", hint or "give a folder with weights")
    return _read_shards(folder)


def _read_shards(folder: Path) -> dict[str, Array]:
    path = folder / INDEX
    listed = read_json(path).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise CompileError(str(path), "has no weight_map from tensors to files", "get the file again")
    files = sorted(set(listed.values()))
    _check_shards(folder, files)
    found: dict[str, Array] = {}
    for name in files:
        found |= read_safetensors(folder / name)
    lost = [name for name in listed if name not in found and not name.endswith(".scale")]
    if lost:
        what = f"lists '{lost[0]}' in {listed[lost[0]]}, which does not hold it"
        raise CompileError(str(path), what, "the shards are not those of this index: get them again")
    return found


def _check_shards(folder: Path, files: list[str]) -> None:
    for name in files:
        # A name from a file: it must not lead out of the folder.
        if Path(name).name != name:
            raise CompileError(str(folder / INDEX), f"names the file '{name}'", "shards lie beside the index")
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        shown = ", ".join(missing[:MOST_ERRORS])
        raise CompileError(
            str(folder), f"{len(missing)} of {len(files)} shards are missing: {shown}", "get the whole folder"
        )


# ---- tensors ------------------------------------------------------------------------------------------------------


class _Reader:
    """Finds the weights of a family among tensors."""

    def __init__(self, where: str, family: Family, tensors: dict[str, Array], lacking: str) -> None:
        self.where, self.family, self.tensors, self.lacking = where, family, tensors, lacking
        self.errors: list[CompileError] = []
        self.read = set[str]()
        self.heads = 1

    def weights(self, config: Config) -> dict[str, Array]:
        found: dict[str, Array] = {}
        self.heads = config.heads
        for name, shape in shapes(config):
            value = self._weight(name, shape)
            if value is not None:
                found[name] = value
            if len(self.errors) >= MOST_ERRORS:
                break
        raise_all(self.errors)
        self._refuse_others(config)
        return found

    def _weight(self, name: str, shape: Shape) -> Array | None:
        source, part = self._source(name), self._part(name)
        at, parts = self.family.joined.get(part, (0, 1))
        turned = part in self.family.turned and len(shape) == 2
        whole = (shape[0] * parts, *shape[1:])
        value = self._tensor(source, whole[::-1] if turned else whole)
        if value is None:
            return None
        rows = value.T if turned else value
        if parts > 1 and self.family.by_head:
            rows = rows.reshape(self.heads, parts, -1, *shape[1:])[:, at].reshape(shape)
            return np.ascontiguousarray(rows)
        return np.ascontiguousarray(rows[at * shape[0] : (at + 1) * shape[0]])

    def _tensor(self, source: str, shape: Shape) -> Array | None:
        """A tensor of that shape; what is wrong is noted once."""
        value, known = self.tensors.get(source), source in self.read
        self.read.add(source)
        if value is None or value.shape != shape:
            if not known:
                self.errors.append(self._missing(source) if value is None else self._misshapen(source, value, shape))
            return None
        if not known and not np.all(np.isfinite(value)):
            self.errors.append(
                CompileError(f"{self.where}, tensor '{source}'", "has values that are not finite", "get the file again")
            )
        return value

    def _missing(self, source: str) -> CompileError:
        return CompileError(self.where, f"has no tensor '{source}', which {CONFIG} calls for", "get the whole folder")

    def _misshapen(self, source: str, value: Array, shape: Shape) -> CompileError:
        what = f"has shape {_shown(value.shape)}, but by {CONFIG} it has {_shown(shape)}"
        return CompileError(f"{self.where}, tensor '{source}'", what, "the two files are not of one model")

    def _part(self, name: str) -> str:
        """A weight's name without the layer and without what it is of its part."""
        first, _, rest = name.partition(".")
        return (rest if first.startswith("layer") else name).rpartition(".")[0]

    def _source(self, name: str) -> str:
        """How a weight is called in the file."""
        first, _, kind = name.partition(".")[0], *name.rpartition(".")[1:]
        theirs = self.family.names[self._part(name)]
        layer = f"{self.family.layer}.{first.removeprefix('layer')}." if first.startswith("layer") else ""
        return f"{layer}{theirs}.{kind}".removeprefix(self.lacking)

    def _refuse_others(self, config: Config) -> None:
        head = f"{self.family.names['head']}.weight"
        if config.tied and head in self.tensors:
            self.read.add(head)
            self._check_tied(head)
        others = sorted(self._others())
        if others:
            raise CompileError(
                self.where, f"{len(others)} tensors have no place in the network of {CONFIG}: "
                f"{', '.join(others[:MOST_ERRORS])}", "the two files are not of one model, or an option is missing",
            )  # fmt: skip

    def _others(self) -> Iterator[str]:
        return (name for name in self.tensors if name not in self.read and not name.endswith(self.family.ignored))

    def _check_tied(self, head: str) -> None:
        embedding = self._source("embedding.weight")
        if not np.array_equal(self.tensors[head], self.tensors[embedding]):
            raise CompileError(
                f"{self.where}, tensor '{head}'", f"differs from '{embedding}', although tie_word_embeddings is true",
                "set tie_word_embeddings to false if the head has weights of its own",
            )  # fmt: skip


def _shown(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
