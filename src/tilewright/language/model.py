"""A language model, from a checkpoint to a program that talks.

>>> lm = tw.LanguageModel.load("stories260k")
>>> lm.compile(target="siracusa", quantise="text.txt")
>>> for piece in lm.generate("Once upon a time"):
...     print(piece, end="")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import CompileError
from tilewright.language import kept_models, known_models
from tilewright.language.arguments import of_kind, path_of, tokens_of, whole
from tilewright.language.generation import Generation, Listener
from tilewright.language.host_session import HostSession
from tilewright.language.library import LibraryTokens, library_in
from tilewright.language.prompt import calibration, check_sizes, prompt_bytes, usual_context
from tilewright.language.sampler import Sampling
from tilewright.language.summary import Summary
from tilewright.language.talking import Event, Request
from tilewright.language.text.stop_words import stop_words
from tilewright.language.text.tokenizer import Tokenizer

# Whoever finds everything built does not wait until a compiler is loaded: the rest is imported where it is needed.
if TYPE_CHECKING:
    from tilewright.language.conversation.talker import Reply, Talker, Words
    from tilewright.language.decoder import Decoder
    from tilewright.language.folder import ModelC
    from tilewright.language.preparing import Quantising
    from tilewright.language.soc_session import SocSession
    from tilewright.language.step_profile import Share
    from tilewright.quantiser.samples.stream import Progress
    from tilewright.target.settings import Settings

NAMELESS = ("model", "onnx")
"""Names that say nothing about a model."""


@dataclass
class LanguageModel:
    """A trained decoder and its tokenizer. Once compiled, it generates texts and has C."""

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
    _files: str | None = field(default=None, repr=False)
    """Stands for the files that it was read from."""
    _compile_now: Callable[[], ModelC] | None = field(default=None, repr=False)
    _kept: tuple[Path, dict[str, Any]] | None = field(default=None, repr=False)
    """The folder of what an earlier call has built, and what is said of it."""
    _kept_key: str | None = field(default=None, repr=False)
    _talker: tuple[str | Path | None, Talker] | None = field(default=None, repr=False)
    """Whom `chat` talks to, and by which template."""

    @classmethod
    def load(cls, model: str | Path, tokenizer: str | Path | None = None) -> LanguageModel:
        """Read a folder in Hugging Face's format, a GGUF or llama2.c file, or ONNX graphs with `past_key_values`.

        Without `tokenizer`, the tokenizer is taken from the model, or from a file beside it. If the model was read
        before, its weights are read again only for compiling.
        """
        path = path_of(model, "model")
        words = None if tokenizer is None else path_of(tokenizer, "tokenizer")
        key = known_models.key_of(path, words)
        found = known_models.recall(key, partial(_read_decoder, path)) if key else None
        decoder, tokens = found or (_read_decoder(path), _read_tokenizer(path, words))
        if key and not found:
            known_models.remember(key, decoder, tokens)
        return cls(decoder, tokens, path, _files=key)

    def compile(
        self, target: str = "generic", *, context: int | None = None, block: int | None = None,
        quantise: str | Path | bool | Quantising | None = None, weight_bits: int = 8, settings: Settings | None = None,
        name: str = "", cc: str | None = None, progress: Progress | None = None, greedy: bool = False,
        activations: str | None = None, cache: str | None = None,
    ) -> LanguageModel:  # fmt: skip
        """Compile for a target: for single tokens, and for blocks of a prompt.

        - `context`: the most tokens of a text.
        - `block`: tokens of a prompt that are read at once; 16, or 512 where lengths are arguments.
        - `quantise`: a calibration text or its file (True: calibration.txt beside the model), or a `Quantising` with
          more options: the program then computes in integers only.
        - `greedy`: a program that always takes the most likely token. It has no sampler, and stores no scores.
        - `activations`: how activations meet weights in blocks (GGUF): rounded to bytes, block by block (q8), or as
          floats (f32, as on a GPU always).
        - `cache`: the type of keys and values, f16 or f32; on `cpu` f16 if weights are shorter than f32.
        """
        asked = {given: value for given, value in locals().items() if given not in ("self", "progress")}
        key = self._key(asked)
        kept = kept_models.find(key) if key else None
        compile_now = partial(self._compiled_now, asked, progress)
        # What is kept is compiled only if somebody asks for its networks or its C.
        made = None if kept else compile_now()
        self._compiled, self._compile_now, self._kept, self._kept_key = made, compile_now, kept, key
        self._session, self._talker, self._cc = None, None, cc
        return self

    def _key(self, asked: Mapping[str, Any]) -> str | None:
        """Of the model as it would be built; None where nobody can tell whether it is the same."""
        settings, quantise, cc = asked["settings"], asked["quantise"], asked["cc"]
        has_folders = any(getattr(settings, name, None) for name in ("kernels", "accelerators"))
        if self._files is None or has_folders or not isinstance(cc, str | None):
            return None
        if quantise is True or isinstance(quantise, str | Path):
            quantise = calibration(self.path, quantise)
        parts = [f"{name} {value!r}" for name, value in {**asked, "quantise": quantise}.items()]
        return kept_models.key_of([self._files, self.name, *parts, kept_models.machine(cc)])

    def _compiled_now(self, asked: Mapping[str, Any], progress: Progress | None) -> ModelC:
        from tilewright.language.compiling import compile_model

        return compile_model(self.decoder, self.tokenizer, self.path, self.name, progress, **asked)

    @property
    def name(self) -> str:
        """What it is called by its place; one that is only called model has the name of the folder around it."""
        path = self.path.resolve()
        names = [path.stem, *(folder.name for folder in path.parents)]
        return next((name for name in names if name and name not in NAMELESS), path.stem)

    @property
    def usual_context(self) -> int:
        """The context length by default, in tokens."""
        return usual_context(self.decoder.facts)

    def checked_prompt(self, prompt: str | bytes, context: int | None = None) -> bytes:
        """The prompt as UTF-8. One that does not fit the context is refused."""
        context = self.usual_context if context is None else whole(context, "context")
        check_sizes(self.decoder.facts, context, 1)
        return prompt_bytes(prompt, self.tokenizer, self.decoder.facts, context)

    @property
    def compiled(self) -> ModelC:
        if self._compiled is None:
            self._compiled = self._asked()()
        return self._compiled

    def _asked(self) -> Callable[[], ModelC]:
        if self._compile_now is None:
            raise CompileError("language model", "is not compiled yet", 'call compile(target="generic") first')
        return self._compile_now

    @property
    def summary(self) -> Summary:
        """Name, sizes and target of the compiled model."""
        self._asked()
        return self._session.summary if self._session else self._kept_summary or self._summary_now()

    @property
    def _kept_summary(self) -> Summary | None:
        return Summary.from_dict(self._kept[1]) if self._kept else None

    def _summary_now(self) -> Summary:
        from tilewright.language.building import summary_of

        return summary_of(self.compiled, self.decoder.parameters)

    def build(self) -> HostSession | SocSession:
        """Compile the C for this machine, or for the target's virtual SoC; done once."""
        if self._session is None:
            self._session = self._reopened() or self._built()
        return self._session

    def _reopened(self) -> HostSession | None:
        """From the files of an earlier call, unless they were damaged since."""
        summary = self._kept_summary
        if self._kept is None or summary is None:
            return None
        try:
            return HostSession(library_in(self._kept[0], summary.name), summary, self.tokenizer)
        except CompileError:
            kept_models.drop(self._kept[0])
            self._kept = None
            return None

    def session(self) -> LibraryTokens:
        """A new context that reads tokens one by one or many at once. Contexts are independent of each other."""
        made = self.build()
        if isinstance(made, HostSession):
            return made.tokens()
        where = f"target {made.summary.target}"
        raise CompileError(where, "has no sessions: its programs read one text", "use generic or cpu, or generate()")

    def _built(self) -> HostSession | SocSession:
        from tilewright.language.building import build
        from tilewright.language.memory_use import explained
        from tilewright.language.soc_session import SocSession

        model, summary = self.compiled, self._summary_now()
        with explained(model.modes.decoding.schedule.target, model.scale is None):
            if not model.place.is_mapped:
                return SocSession(model, summary, self._cc)
            made = kept_models.make(self._kept_key, summary.as_dict(), lambda folder: build(model, folder, self._cc))
        session = HostSession(library_in(made.folder, summary.name), summary, self.tokenizer)
        session.owns = made.draft
        return session

    def generate(
        self, prompt: str | bytes, tokens: int = 100, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0,
        repetition_penalty: float = 1.0, seed: int = 0, stop: bool = True, min_p: float = 0.0,
        stops: str | Sequence[str] = (), json_schema: object = None,
    ) -> Iterator[str]:  # fmt: skip
        """Generate the text that follows a prompt, piece by piece; then `last` has the whole text and its figures.

        With `stop`, the text ends at the model's end-of-text token. It always ends when the context is full, and before
        the first of the texts in `stops`. With `json_schema`, an object as json.loads gives it, the text is JSON of
        that schema.
        """
        model, words = self.summary, stop_words(stops)
        sampling = Sampling(temperature, top_k, top_p, repetition_penalty, seed, min_p)
        of_kind(stop, "stop", bool, "True or False")
        if model.greedy and not sampling.is_greedy:
            what = "needs logits, which a greedy program does not have"
            where = f"sampling with temperature {temperature:g}, penalty {repetition_penalty:g}"
            raise CompileError(where, what, "compile it without greedy")
        text = self.checked_prompt(prompt, model.context)
        request = Request(text, tokens_of(tokens), sampling, stop)
        return self._pieces(request, words, None if json_schema is None else self._written(request, json_schema))

    def talker(self, template: str | Path | None = None, chunk: int = 0) -> Talker:
        """A new conversation, with the model's chat template or one from a file.

        `chunk` makes answers independent of what was read before: see `Memory`.
        """
        from tilewright.language.conversation.memory import Memory
        from tilewright.language.conversation.talker import Talker

        return Talker(self._words(template), Memory(self.session(), chunk))

    def _words(self, template: str | Path | None = None) -> Words:
        from tilewright.language.conversation.talker import Words
        from tilewright.language.conversation.template_files import read_talk

        own = None if template is None else path_of(template, "template")
        talk = read_talk(self.path, self.tokenizer, own)
        return Words(self.tokenizer, talk, str(self.path), frozenset(self.summary.ends))

    def _written(self, request: Request, schema: object) -> Iterator[Event]:
        """A text of a JSON schema."""
        from tilewright.language.conversation.memory import Memory
        from tilewright.language.conversation.speaking import Asked, spoken
        from tilewright.language.text.piece_stream import PieceStream

        prompt = self.tokenizer.encode(request.text)
        ends = frozenset(self.summary.ends) if request.stops else frozenset[int]()
        asked = Asked(request.tokens, request.sampling, ends, self._words().json_text(schema))
        return spoken(Memory(self.session()), prompt, asked, PieceStream(self.tokenizer, prompt))

    def chat(
        self, messages: Sequence[Mapping[str, object]], tokens: int | None = None, temperature: float = 0.0,
        top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, repetition_penalty: float = 1.0, seed: int = 0,
        stops: str | Sequence[str] = (), json_schema: object = None, template: str | Path | None = None,
    ) -> Reply:  # fmt: skip
        """The next message of a conversation: iterate over its pieces as they come, or read its `text`.

        With `json_schema`, an object as json.loads gives it, the answer is JSON of that schema. The beginning that a
        conversation shares with the previous one is not read again.
        """
        from tilewright.language.conversation.speaking import Asked

        if self._talker is None or self._talker[0] != template:
            self._talker = template, self.talker(template)
        sampling = Sampling(temperature, top_k, top_p, repetition_penalty, seed, min_p)
        most = self.summary.context if tokens is None else tokens_of(tokens)
        return self._talker[1].answer(messages, Asked(most, sampling), stop_words(stops), json_schema)

    def _pieces(self, request: Request, stops: Sequence[str], events: Iterator[Event] | None) -> Iterator[str]:
        session = self.build()
        listener = Listener(request.tokens, session.summary.ends, stops)
        self.last, mine = None, object()
        self._newest = mine
        try:
            yield from listener.hear(events or session.talk(request))
        finally:
            # One that was begun earlier may end later.
            if self._newest is mine:
                self.last = self._generation(request, listener, session)

    def _generation(self, request: Request, heard: Listener, session: HostSession | SocSession) -> Generation | None:
        if heard.read is None:
            return None
        said = session.summary
        return Generation(
            said.target, request.text.decode(), heard.text, heard.read, tuple(heard.said),
            heard.stopped(request.stops), said.context, said.bytes, said.weights, heard.seconds,
        )  # fmt: skip

    def spent(self) -> tuple[Share, ...]:
        """Shares of a token's time on a virtual SoC, by operator, for a token in the middle of the last text."""
        last = self.last
        if last is None or not self.build().counts_cycles:
            return ()
        from tilewright.language.step_profile import shares

        return shares(self.compiled, min(last.prompt_tokens + last.tokens // 2, last.context - 1), self._cc)

    @property
    def description(self) -> str:
        """The model in one line."""
        return self.summary.description

    def save(self, folder: str | Path, weights: str = "file") -> list[str]:
        """Write the C into a folder, which appears whole or not at all; the names of its files.

        For a computer, weights are a file that the program maps (`weights="file"`), or part of the program ("c")."""
        from tilewright.language import saving

        return saving.save(self.compiled, path_of(folder, "folder"), weights)


def _read_decoder(path: Path) -> Decoder:
    from tilewright.language.reading import read_decoder

    return read_decoder(path)


def _read_tokenizer(path: Path, given: Path | None) -> Tokenizer:
    from tilewright.language.reading import tokenizer_of
    from tilewright.language.text.tokenizer_file import load_tokenizer

    return load_tokenizer(tokenizer_of(path) if given is None else given)
