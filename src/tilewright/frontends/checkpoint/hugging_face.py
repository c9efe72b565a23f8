"""A folder in Hugging Face's format: `config.json`, and weights in one safetensors file or in several."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, raise_all
from tilewright.frontends.checkpoint.config import MOST_ERRORS, Checkpoint, Config, Weight, by_rows, shapes, shown
from tilewright.frontends.checkpoint.families import Family
from tilewright.frontends.checkpoint.known_families import family_of
from tilewright.frontends.checkpoint.options import Options
from tilewright.frontends.checkpoint.rotation import halves_from_part
from tilewright.frontends.checkpoint.safetensors_file import StoredTensor, read_safetensors
from tilewright.ir.types import Array, Shape

POSITIONS = "position_embedding"
CONFIG, WHOLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def read_folder(folder: Path) -> Checkpoint:
    config, family = _config(folder)
    tensors = _read(folder)
    lacks_prefix = family.prefix and not any(name.startswith(family.prefix) for name in tensors)
    reader = _Reader(str(folder), config, family, tensors, family.prefix if lacks_prefix else "")
    return Checkpoint(config, _in_halves(config, reader.weights()))


def _in_halves(config: Config, weights: dict[str, Weight]) -> dict[str, Weight]:
    """With pairs half a head apart, also where a part of each head is turned only."""
    rotary = config.rotary
    if rotary is None or not rotary.turned:
        return weights
    turned = ("attention.query.", "attention.key.")
    return {
        name: by_rows(value, lambda rows: halves_from_part(rows, rotary, config.head))
        if any(part in name for part in turned)
        else value
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


def _read(folder: Path) -> dict[str, StoredTensor]:
    """All tensors of a folder by name."""
    if (folder / WHOLE).is_file():
        return read_safetensors(folder / WHOLE)
    if not (folder / INDEX).is_file():
        others = sorted(path.name for path in folder.glob("*.bin"))[:3]
        hint = f"{', '.join(others)}: save them with save_pretrained(safe_serialization=True)" if others else ""
        raise CompileError(str(folder), f"has neither {WHOLE} nor {INDEX}", hint or "give a folder with weights")
    return _read_shards(folder)


def _read_shards(folder: Path) -> dict[str, StoredTensor]:
    path = folder / INDEX
    listed = read_json(path).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise CompileError(str(path), "has no weight_map from tensors to files", "get the file again")
    files = sorted(set(listed.values()))
    _check_shards(folder, files)
    found: dict[str, StoredTensor] = {}
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
        listed = ", ".join(missing[:MOST_ERRORS])
        raise CompileError(
            str(folder), f"{len(missing)} of {len(files)} shards are missing: {listed}", "get the whole folder"
        )


# ---- tensors ------------------------------------------------------------------------------------------------------


class _Reader:
    """Finds the weights of a family among tensors."""

    def __init__(
        self, where: str, config: Config, family: Family, tensors: dict[str, StoredTensor], lacking: str
    ) -> None:
        self.where, self.family, self.tensors, self.lacking = where, family, tensors, lacking
        self.config = config
        self.rows = {self._part(name): shape[0] for name, shape in shapes(replace(config, layers=1))}
        self.errors: list[CompileError] = []
        self.read = set[str]()

    def weights(self) -> dict[str, Weight]:
        found: dict[str, Weight] = {}
        config = self.config
        for name, shape in shapes(config):
            value = self._weight(name, shape)
            if value is not None:
                found[name] = value
            if len(self.errors) >= MOST_ERRORS:
                break
        raise_all(self.errors)
        self._refuse_others(config)
        return found

    def _weight(self, name: str, shape: Shape) -> Weight | None:
        source, part = self._source(name), self._part(name)
        together = next((parts for parts in self.family.joined if part in parts), (part,))
        turned = part in self.family.turned and len(shape) == 2
        skipped = self.family.skipped_positions if part == POSITIONS else 0
        rows = {one: self.rows.get(one, 0) for one in together} if len(together) > 1 else {part: shape[0]}
        whole = (sum(rows.values()) + skipped, *shape[1:])
        value = self._tensor(source, whole[::-1] if turned else whole)
        if value is None:
            return None
        found = value.floats() if turned or part == POSITIONS else value.weight
        found = found.T if turned and isinstance(found, np.ndarray) else found
        if len(together) > 1 and self.family.by_head:
            return by_rows(found, lambda rows: self._of_heads(part, rows))
        first = skipped + sum(rows[one] for one in together[: together.index(part)])
        if turned or first or len(found.shape) == 1 or found.shape[0] != shape[0]:
            found = by_rows(found, lambda rows: rows[first : first + shape[0]] + self._offset(name, rows))
        return found

    def _of_heads(self, part: str, rows: Array) -> Array:
        """Queries, keys or values of heads that share keys, of which each has its queries first."""
        config, others = self.config, rows.shape[1:]
        repeat = config.heads // config.kv_heads
        apart = rows.reshape(config.kv_heads, repeat + 2, config.head, *others)
        place = {"query": slice(0, repeat), "key": slice(repeat, repeat + 1), "value": slice(repeat + 1, None)}
        return apart[:, place[part.rpartition(".")[2]]].reshape(-1, *others)

    def _offset(self, name: str, rows: Array) -> Array:
        """What is to be added to norms."""
        is_norm = "norm" in name and name.endswith(".weight")
        return rows.dtype.type(self.family.norm_offset if is_norm else 0)

    def _tensor(self, source: str, shape: Shape) -> StoredTensor | None:
        """A tensor of that shape; what is wrong is noted once."""
        value, known = self.tensors.get(source), source in self.read
        self.read.add(source)
        if value is None or value.shape != shape:
            if not known:
                self.errors.append(self._missing(source) if value is None else self._misshapen(source, value, shape))
            return None
        if not known and not value.are_finite():
            self.errors.append(
                CompileError(f"{self.where}, tensor '{source}'", "has values that are not finite", "get the file again")
            )
        return value

    def _missing(self, source: str) -> CompileError:
        return CompileError(self.where, f"has no tensor '{source}', which {CONFIG} calls for", "get the whole folder")

    def _misshapen(self, source: str, value: StoredTensor, shape: Shape) -> CompileError:
        what = f"has shape {shown(value.shape)}, but by {CONFIG} it has {shown(shape)}"
        return CompileError(f"{self.where}, tensor '{source}'", what, "the two files are not of one model")

    def _part(self, name: str) -> str:
        """A weight's name without the layer and without what it is of its part."""
        first, _, rest = name.partition(".")
        return (rest if first.startswith("layer") else name).rpartition(".")[0]

    def _source(self, name: str) -> str:
        """How a weight is called in the file."""
        first, _, kind = name.partition(".")[0], *name.rpartition(".")[1:]
        named = self.family.names[self._part(name)]
        layer = f"{self.family.layer}.{first.removeprefix('layer')}." if first.startswith("layer") else ""
        known = [
            f"{layer}{theirs}.{kind}".removeprefix(self.lacking)
            for theirs in (named if isinstance(named, tuple) else (named,))
        ]
        return next((one for one in known if one in self.tensors), known[0])

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
        if not np.array_equal(self.tensors[head].floats(), self.tensors[embedding].floats()):
            raise CompileError(
                f"{self.where}, tensor '{head}'", f"differs from '{embedding}', although tie_word_embeddings is true",
                "set tie_word_embeddings to false if the head has weights of its own",
            )  # fmt: skip
