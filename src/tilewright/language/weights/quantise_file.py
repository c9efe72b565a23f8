"""A checkpoint of a language model in, a GGUF file with weights of few bits out, and what that costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, TypeGuard

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.frontends.checkpoint.gguf import ARCHITECTURE, SUFFIX, read_gguf_decoder
from tilewright.frontends.checkpoint.gguf_file import ALIGNMENT_KEY, read_gguf
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.types import Array
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.weights.gguf_model import GgufModel, differences
from tilewright.language.weights.gguf_writer import Announced, GgufWriter, Key, Plain
from tilewright.language.weights.perplexity import Perplexity, perplexity, pieces_of
from tilewright.language.weights.rounding import Choice, Rounding
from tilewright.language.weights.tokenizer_keys import tokenizer_keys
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.records import dataclass
from tilewright.whole_file import written_whole

F32 = 0
FILE_TYPE, VERSION_KEY, VERSION = "general.file_type", "general.quantization_version", 2
NOT_KEPT = (ALIGNMENT_KEY, FILE_TYPE, VERSION_KEY)
"""Keys that are another file's own."""
WORK = 2**43
"""Multiplications that a text may take; it decides how much of it is used."""
FEWEST_TOKENS, MOST_TOKENS = 4096, 32768


@dataclass(frozen=True)
class Texts:
    calibration: str = ""
    """That errors are weighed with; empty: all weights count the same."""
    evaluation: str = ""
    """That perplexities are of; empty: none are computed."""
    by_lines: bool = False
    """Whether lines are texts of their own."""


@dataclass(frozen=True)
class Written:
    """What came of it."""

    bytes: int
    parameters: int
    formats: Mapping[str, int]
    """How many weights have which format."""
    calibrated: int
    """Tokens of the calibration."""
    before: Perplexity | None
    after: Perplexity | None

    @property
    def bits(self) -> float:
        """Of a weight, all of the file's bytes counted."""
        return 8 * self.bytes / self.parameters

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {
            "bytes": self.bytes, "parameters": self.parameters, "bits_per_weight": self.bits,
            "formats": dict(self.formats), "calibration_tokens": self.calibrated,
        }  # fmt: skip
        if self.before is None or self.after is None:
            return found
        perplexities = {"before": self.before.value, "after": self.after.value, "tokens": self.after.tokens}
        return found | {"perplexity": perplexities}


def quantise_file(path: Path, output: Path, choice: Choice, texts: Texts, progress: Progress = silent) -> Written:
    source = _source(path)
    checkpoint, config = source.checkpoint, source.checkpoint.config
    parameters = sum(math.prod(shape) for _, shape in shapes(config))
    most = min(max(FEWEST_TOKENS, WORK // parameters), MOST_TOKENS)
    calibration, evaluation = (
        pieces_of(text, source.tokenizer, config, most, texts.by_lines) if text else []
        for text in (texts.calibration, texts.evaluation)
    )
    before = after = None
    with written_whole(output) as file:
        source.write(file, Rounding(checkpoint, choice, calibration, progress))
        again = _read_back(Path(file.name), output, config)
        if evaluation:
            before, after = (perplexity(one, evaluation, progress) for one in (checkpoint, again))
    used = Counter[str]()
    for name, shape in shapes(config):
        used[choice.format(name, shape, config)] += math.prod(shape)
    return Written(output.stat().st_size, parameters, dict(used), sum(map(len, calibration)), before, after)


def _read_back(draft: Path, output: Path, wanted: Config) -> Checkpoint:
    """The file as our own reader has it, which must be the same decoder."""
    found = read_gguf_decoder(draft)
    lost = differences(wanted, found.config)
    if lost:
        what = f"files in GGUF cannot say what this {wanted.family} has: {', '.join(lost)}"
        raise CompileError(str(output), what, "no file is written")
    return found


# ---- models that are read -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """A model, and what files say of it beside its weights."""

    checkpoint: Checkpoint
    tokenizer: Tokenizer
    keys: Mapping[str, Key]
    model: GgufModel

    def write(self, file: BinaryIO, rounding: Rounding) -> None:
        tensors, extra = list(self.model.tensors()), self.model.divisors()
        known = dict(shapes(self.model.config))
        announced = [Announced(name, value.shape, F32) for name, value in extra.items()]
        announced += [
            Announced(one.name, one.shape, rounding.kind(one.weights[0], known[one.weights[0]])) for one in tensors
        ]
        keys = {**self.keys, FILE_TYPE: rounding.choice.file_type, VERSION_KEY: VERSION}
        writer = GgufWriter(file, keys, announced)
        for name, value in extra.items():
            writer.write(name, value)
        holders, waiting = {name: one for one in tensors for name in one.weights}, dict[str, Array]()
        for name, rows in rounding.weights():
            waiting[name] = self.model.ordered(name, rows)
            holder = holders[name]
            if all(one in waiting for one in holder.weights):
                writer.write(holder.name, np.concatenate([waiting.pop(one) for one in holder.weights]))
        writer.finish()


def _source(path: Path) -> _Source:
    if path.is_dir():
        checkpoint = read_checkpoint(path)
        model = GgufModel.of(checkpoint.config, str(path))
        keys = {"general.name": path.resolve().name, **model.keys(), **tokenizer_keys(path, checkpoint.config)}
        return _Source(checkpoint, load_tokenizer(path), keys, model)
    if path.suffix.lower() != SUFFIX:
        what = "is neither a folder in Hugging Face's format nor a GGUF file"
        raise CompileError(str(path), what, "give one of them to have its weights in --weights")
    checkpoint, file = read_checkpoint(path), read_gguf(path)
    keys = {key: value for key, value in file.keys.items() if key not in NOT_KEPT and _is_key(value)}
    return _Source(checkpoint, load_tokenizer(path), keys, GgufModel(checkpoint.config, str(keys[ARCHITECTURE])))


def _is_key(value: object) -> TypeGuard[Key]:
    return isinstance(value, Plain | list)
