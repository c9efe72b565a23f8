"""From a trained decoder to its C for a target: arguments checked, networks compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilewright import targets
from tilewright.errors import CompileError
from tilewright.language import saving
from tilewright.language.arguments import callable_of, of_kind, whole
from tilewright.language.caching import with_short_caches
from tilewright.language.decoder import Decoder
from tilewright.language.folder import ModelC
from tilewright.language.greedy_head import Finding
from tilewright.language.memory_use import Needs, check_context, explained, with_room
from tilewright.language.modes import compile_modes
from tilewright.language.preparing import Quantising, prepare
from tilewright.language.prompt import calibration, check_sizes, usual_context
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.ops.blockmatmul import OF_BYTES, OF_FLOATS
from tilewright.passes.numerics.hardware import EXACT
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.target.mapping import only_engines
from tilewright.target.runner import GpuProcess
from tilewright.target.settings import Settings, has_option
from tilewright.target.target import Target

PLANNING = 3.0
"""Work of the solver for each mode on a target with a cluster, in about seconds."""
BLOCK, TILE_BLOCK, LONG_BLOCK = 16, 128, 512
"""The usual block where its length is fixed, on a GPU, and where it is the most; shorter where it does not fit."""
WEIGHT_BITS = range(2, 9)
SHORT, LONG = "f16", "f32"
"""What keys and values are kept as."""


def compile_model(
    decoder: Decoder, tokenizer: Tokenizer, path: Path, own_name: str, progress: Progress | None, *, target: str,
    context: int | None, block: int | None, quantise: str | Path | bool | Quantising | None, weight_bits: int,
    settings: Settings | None, name: str, cc: str | None, greedy: bool, activations: str | None,
    cache: str | None,
) -> ModelC:  # fmt: skip
    """As `LanguageModel.compile` describes it."""
    facts, found = decoder.facts, targets.find(target)
    if not _has_language_models(found):
        hint = f"use one of {', '.join(able_targets())}"
        raise CompileError(f"target {target}", "has no support for language models", hint)
    context = usual_context(facts) if context is None else whole(context, "context")
    of_kind(name, "name", str, "a text")
    of_kind(cc, "cc", str | None, "a command")  # type: ignore[arg-type]
    progress = silent if progress is None else progress
    callable_of(progress, "progress")
    of_kind(greedy, "greedy", bool, "True or False")
    has_gpu = isinstance(found.runner, GpuProcess)
    activations = _activations(activations, has_gpu)
    if settings is None:
        settings = Settings(time_limit=PLANNING) if has_option(found, "time_limit") else Settings()
    of_kind(settings, "settings", Settings, "a Settings")
    quantising = _quantising(path, quantise, whole(weight_bits, "weight_bits"))
    needs = Needs.of(facts, tokenizer, quantising is not None, greedy)
    # Integers are calibrated at one length, from which two networks are made.
    has_lengths = found.has_lengths and quantising is None
    usual = min(LONG_BLOCK if has_lengths else TILE_BLOCK if has_gpu else BLOCK, context)
    block = usual if block is None else whole(block, "block")
    check_sizes(facts, context, block)
    check_context(needs, context, found, settings)
    finding = Finding.by(only_engines(found, settings.engines)) if greedy else None
    keeps_blocks = quantising is None and not found.agents.has_runtime
    decoder = decoder.with_blocks(activations if keeps_blocks else None)
    made = prepare(decoder, tokenizer, context, block, quantising, progress, finding, has_lengths)
    if _has_short_cache(cache, found, decoder, quantising):
        made = replace(made, decode=with_short_caches(made.decode))
    progress("planning memory", 0, 0)
    prefix = saving.model_name(name or own_name)
    # The same text everywhere: no target rounds in its own way.
    settings = replace(with_room(settings, found, needs, context), numerics=settings.numerics or EXACT)
    with explained(found, quantising is None):
        modes = compile_modes(made.decode, made.prefill, target, prefix, settings)
    return ModelC(modes, facts, tokenizer, context, block, made.scale, made.is_tied)


def _quantising(path: Path, given: str | Path | bool | Quantising | None, bits: int) -> Quantising | None:
    if isinstance(given, Quantising):
        return given
    if bits not in WEIGHT_BITS:
        raise CompileError(f"{bits} bits for a weight", "are not supported", "choose 2 to 8")
    if given is None or given is False:
        if bits != 8:
            raise CompileError(f"{bits} bits for a weight", "are for quantised models", "give a text to quantise on")
        return None
    return Quantising(calibration(path, given), bits)


def _has_short_cache(cache: str | None, target: Target, decoder: Decoder, quantising: Quantising | None) -> bool:
    """Whether keys and values are kept as float16; as weights are, where nobody says it."""
    is_possible = target.has_short_caches and quantising is None
    if cache is None:
        return is_possible and decoder.has_short_weights
    if cache not in (SHORT, LONG):
        raise CompileError(f"cache {cache}", "is not known", f"use {SHORT} or {LONG}")
    if cache == SHORT and not is_possible:
        what = "are not kept as f16 there" if quantising is None else "are integers in quantised models"
        raise CompileError(f"keys and values on {target.name}", what, "leave the cache out, or use --target cpu")
    return cache == SHORT


def _activations(asked: str | None, has_gpu: bool) -> str:
    """What weights in blocks are multiplied with."""
    if asked not in (OF_BYTES, OF_FLOATS, None):
        raise CompileError(f"activations {asked}", "are unknown", f"use {OF_BYTES} or {OF_FLOATS}")
    if asked == OF_BYTES and has_gpu:
        raise CompileError(f"activations {asked}", "are not what a GPU multiplies", f"use {OF_FLOATS}")
    return asked or (OF_FLOATS if has_gpu else OF_BYTES)


def able_targets() -> list[str]:
    """The names of all targets that run language models."""
    return [name for name in targets.names() if _has_language_models(targets.find(name))]


def _has_language_models(target: Target) -> bool:
    """Boards have memories for one network and its constants."""
    return target.language_models and not any(memory.holds for memory in target.memories)
