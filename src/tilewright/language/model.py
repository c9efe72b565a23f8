"""A language model, from a checkpoint to a program that talks.

>>> lm = tw.LanguageModel.load("stories260k")
>>> lm.compile(target="siracusa", quantise="text.txt")
>>> for piece in lm.generate("Once upon a time"):
...     print(piece, end="")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright import targets
from tilewright.errors import CompileError
from tilewright.language import saving
from tilewright.language.arguments import callable_of, of_kind, path_of, tokens_of, whole
from tilewright.language.decoder import Decoder
from tilewright.language.folder import ModelC
from tilewright.language.generation import Generation, Listener, Weights
from tilewright.language.greedy_head import Finding
from tilewright.language.memory_use import (
    Needs,
    check_context,
    explained,
    rows_twice,
    used_bytes,
    weight_bytes,
    with_room,
)
from tilewright.language.modes import compile_modes
from tilewright.language.places import Caller, Chip, Place
from tilewright.language.preparing import Quantising, prepare
from tilewright.language.prompt import prompt_bytes
from tilewright.language.reading import files_beside, read_decoder, tokenizer_of
from tilewright.language.sampler import Sampling
from tilewright.language.step_profile import Share, shares
from tilewright.language.talking import HostSession, Request, SocSession
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.passes.numerics.hardware import EXACT
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.target.mapping import only_engines
from tilewright.target.settings import Settings, has_option
from tilewright.target.target import Target

LONGEST_CONTEXT = 512
"""Tokens that are remembered where nobody says how many, if the model was trained for so many."""
PLANNING = 3.0
"""Work of the solver for each mode on a target with a cluster, in about seconds."""
CALIBRATION, BLOCK = "calibration.txt", 16
"""The text beside a model that it is quantised on where no other is given."""
WEIGHT_BITS = range(2, 9)
NAMELESS = ("model", "onnx")
"""Names that say nothing about a model."""

SESSIONS: Mapping[type[Place], type[HostSession] | type[SocSession]] = {Caller: HostSession, Chip: SocSession}


@dataclass
class LanguageModel:
    """A trained decoder and its tokenizer; once it is compiled it gives texts, and its C."""

    decoder: Decoder
    tokenizer: Tokenizer
    path: Path
    last: Generation | None = None
    """The text that was given last, and what it took."""
    _compiled: ModelC | None = field(default=None, repr=False)
    _session: HostSession | SocSession | None = field(default=None, repr=False)
    _newest: object = field(default=None, repr=False)
    """The generation that was begun last."""
    _cc: str | None = field(default=None, repr=False)

    @classmethod
    def load(cls, model: str | Path, tokenizer: str | Path | None = None) -> LanguageModel:
        """A folder in Hugging Face's format, a GGUF or llama2.c file, or ONNX graphs with `past_key_values`.

        The tokenizer is in it or lies beside it if it is not named.
        """
        path = path_of(model, "model")
        words = tokenizer_of(path) if tokenizer is None else path_of(tokenizer, "tokenizer")
        return cls(read_decoder(path), load_tokenizer(words), path)

    def compile(
        self, target: str = "generic", *, context: int | None = None, block: int = BLOCK,
        quantise: str | Path | bool | Quantising | None = None, weight_bits: int = 8, settings: Settings | None = None,
        name: str = "", cc: str | None = None, progress: Progress = silent, greedy: bool = False,
    ) -> LanguageModel:  # fmt: skip
        """Both modes, for a target: `block` tokens of a prompt at once, and one after another.

        With `quantise`, a text or its file (True: calibration.txt beside the model), the program has integers only;
        `Quantising` has more to say about that. A `greedy` program only ever takes the most likely token: it keeps no
        scores of the vocabulary, and needs no sampler.
        """
        facts, found = self.decoder.facts, targets.find(target)
        if not _talks(found):
            known = [name for name in targets.names() if _talks(targets.find(name))]
            hint = f"use one of {', '.join(known)}"
            raise CompileError(f"target {target}", "has no support for language models", hint)
        context, block = self.usual_context if context is None else whole(context, "context"), whole(block, "block")
        of_kind(name, "name", str, "a text")
        of_kind(cc, "cc", str | None, "a command")  # type: ignore[arg-type]
        callable_of(progress, "progress")
        of_kind(greedy, "greedy", bool, "True or False")
        if settings is None:
            settings = Settings(time_limit=PLANNING) if has_option(found, "time_limit") else Settings()
        of_kind(settings, "settings", Settings, "a Settings")
        quantising = self._quantising(quantise, whole(weight_bits, "weight_bits"))
        needs = Needs.of(facts, self.tokenizer, quantising is not None, greedy)
        # The usual block is one that fits.
        block = min(block, context) if block == BLOCK else block
        self._check_sizes(context, block)
        check_context(needs, context, found, settings)
        finding = Finding.by(only_engines(found, settings.engines)) if greedy else None
        made = prepare(self.decoder, self.tokenizer, context, block, quantising, progress, finding)
        progress("planning memory", 0, 0)
        prefix = saving.model_name(name or self.name)
        # The same text everywhere: no target rounds in its own way.
        settings = replace(with_room(settings, found, needs.around(context)), numerics=settings.numerics or EXACT)
        with explained(found, quantising is None):
            modes = compile_modes(made.decode, made.prefill, target, prefix, settings)
        self._compiled = ModelC(modes, facts, self.tokenizer, context, block, made.scale, made.is_tied)
        self._session, self._cc = None, cc
        return self

    def _quantising(self, given: str | Path | bool | Quantising | None, bits: int) -> Quantising | None:
        if isinstance(given, Quantising):
            return given
        if bits not in WEIGHT_BITS:
            raise CompileError(f"{bits} bits for a weight", "are not supported", "choose 2 to 8")
        if given is None or given is False:
            if bits != 8:
                raise CompileError(
                    f"{bits} bits for a weight", "are for quantised models", "give a text to quantise on"
                )
            return None
        return Quantising(self._calibration(given), bits)

    def _calibration(self, given: str | Path | bool) -> str:
        if isinstance(given, str) and (len(given) > 255 or "\n" in given):
            return given
        path = files_beside(self.path) / CALIBRATION if given is True else path_of(given, "quantise")
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
            raise CompileError(str(path), what, "name a file of text like that which the model is for") from None
        except UnicodeDecodeError as error:
            what = f"is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
            raise CompileError(str(path), what, "give a file of plain text") from None

    def _check_sizes(self, context: int, block: int) -> None:
        known = self.decoder.facts.context
        if not 2 <= context <= known:
            what = f"is not within the {known} tokens that the model was trained for"
            raise CompileError(f"context {context}", what, f"choose 2 to {known}")
        if not 1 <= block <= context:
            what, hint = f"a context of {context} tokens holds no such block", f"choose 1 to {context}"
            raise CompileError(f"block {block}", what, hint)

    @property
    def name(self) -> str:
        """What it is called by its place; one that is only called model has the name of the folder around it."""
        path = self.path.resolve()
        names = [path.stem, *(folder.name for folder in path.parents)]
        return next((name for name in names if name and name not in NAMELESS), path.stem)

    @property
    def usual_context(self) -> int:
        """Where nobody says how many tokens are to be remembered."""
        return min(self.decoder.facts.longest, LONGEST_CONTEXT)

    def checked_prompt(self, prompt: str | bytes, context: int | None = None) -> bytes:
        """As UTF-8, if it fits a context."""
        context = self.usual_context if context is None else whole(context, "context")
        self._check_sizes(context, 1)
        return prompt_bytes(prompt, self.tokenizer, self.decoder.facts, context)

    @property
    def compiled(self) -> ModelC:
        if self._compiled is None:
            raise CompileError("language model", "is not compiled yet", 'call compile(target="generic") first')
        return self._compiled

    def build(self) -> HostSession | SocSession:
        """Compile the C for this machine, or for the target's virtual SoC; done once."""
        if self._session is None:
            self._session = self._built()
        return self._session

    def _built(self) -> HostSession | SocSession:
        model = self.compiled
        with explained(model.modes.decoding.schedule.target, model.scale is None):
            return SESSIONS[type(model.place)](model, self._cc)

    def generate(
        self, prompt: str | bytes, tokens: int = 100, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0,
        repetition_penalty: float = 1.0, seed: int = 0, stop: bool = True,
    ) -> Iterator[str]:  # fmt: skip
        """Pieces of the text that follows a prompt, as they come; then `last` has it all, and what it took.

        With `stop` a text ends where the model says so; it always does where the context is full.
        """
        model = self.compiled
        sampling = Sampling(temperature, top_k, top_p, repetition_penalty, seed)
        of_kind(stop, "stop", bool, "True or False")
        if model.greedy and not sampling.is_greedy:
            what = "needs logits, which a greedy program does not have"
            where = f"sampling with temperature {temperature:g}, penalty {repetition_penalty:g}"
            raise CompileError(where, what, "compile it without greedy")
        text = self.checked_prompt(prompt, model.context)
        return self._pieces(Request(text, tokens_of(tokens), sampling, stop))

    def _pieces(self, request: Request) -> Iterator[str]:
        session = self.build()
        listener = Listener(request.tokens, session.model.ends)
        self.last, mine = None, object()
        self._newest = mine
        try:
            yield from listener.hear(session.talk(request))
        finally:
            # One that was begun earlier may end later.
            if self._newest is mine:
                self.last = self._generation(request, listener, session)

    def _generation(self, request: Request, heard: Listener, session: HostSession | SocSession) -> Generation | None:
        if heard.read is None:
            return None
        model = session.model
        used = used_bytes(model, session.elf)
        weights = Weights(weight_bytes(model), model.modes.second_packings, rows_twice(model))
        return Generation(
            model.modes.decoding.schedule.target.name, request.text.decode(), "".join(heard.pieces), heard.read,
            tuple(heard.said), heard.stopped(request.stops), model.context, used, weights, heard.seconds,
        )  # fmt: skip

    def spent(self) -> tuple[Share, ...]:
        """Where the time of a token goes on a virtual SoC, by operator: of one in the middle of the last text."""
        last = self.last
        if last is None or not self.build().counts_cycles:
            return ()
        return shares(self.compiled, min(last.prompt_tokens + last.tokens // 2, last.context - 1), self._cc)

    @property
    def description(self) -> str:
        """The model in one line."""
        facts, model = self.decoder.facts, self.compiled
        kind = "floating point" if model.scale is None else "integers only"
        sizes = f"{facts.layers} layers, width {facts.width}, vocabulary {facts.words}"
        parameters = f"{self.decoder.parameters:,} parameters"
        limits = f"context {model.context}, blocks of {model.block}"
        return f"{model.name}: {facts.family}, {sizes}, {parameters}; {kind}, {limits}"

    def save(self, folder: str | Path) -> list[str]:
        """Write the C into a folder, which appears whole or not at all; the names of its files."""
        return saving.save(self.compiled, path_of(folder, "folder"))


def _talks(target: Target) -> bool:
    """Boards have memories for one network and its constants."""
    return target.talks and not any(memory.holds for memory in target.memories)
