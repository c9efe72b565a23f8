"""`tilewright chat`: talk to a language model on this machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.generate import (
    Activations,
    Block,
    Cache,
    Checkpoint,
    Context,
    MinP,
    Penalty,
    Seed,
    Sizes,
    Stops,
    TokenizerFile,
    TopK,
    TopP,
    counted,
    settings_of,
    visible,
)
from tilewright.cli.json_schema import JsonSchema, read_schema
from tilewright.cli.options import Cc, Json
from tilewright.cli.process import AGREES, print_json, progress_display, show
from tilewright.errors import CompileError

if TYPE_CHECKING:
    from tilewright.language.conversation.dialogue import Dialogue
    from tilewright.language.model import LanguageModel

HELP = """\
/reset        forget what was said
/system TEXT  what the model is told first; without TEXT, nothing
/save FILE    write the conversation to a file
/load FILE    go on with one
/exit         end, as Ctrl-D does; Ctrl-C ends an answer
A line that ends with \\ goes on in the next one."""

HostTarget = Annotated[str, typer.Option("--target", help="cpu or generic: the model runs in this process.")]
System = Annotated[
    str, typer.Option("--system", metavar="TEXT", help="The system message, which the model reads first.")
]
Template = Annotated[
    Path | None,
    typer.Option("--chat-template", metavar="FILE", help="A chat template in Jinja; the model's own by default."),
]
Load = Annotated[Path | None, typer.Option("--load", metavar="FILE", help="Continue a conversation that /save wrote.")]
MostTokens = Annotated[int | None, typer.Option("--tokens", min=1, help="The most tokens of an answer.")]
Warmth = Annotated[float, typer.Option("--temperature", help="0 always takes the most likely token.")]

ENDED_BY = {"tokens": "--tokens", "context": "the end of --context"}
"""What ends an answer, in the words of the options."""


def chat(
    model: Checkpoint, planning: Sizes, target: HostTarget = "cpu", system: System = "", load: Load = None,
    chat_template: Template = None, tokens: MostTokens = None, temperature: Warmth = 0.7, top_k: TopK = 0,
    top_p: TopP = 0.95, min_p: MinP = 0.0, repetition_penalty: Penalty = 1.0, seed: Seed = 0, stop: Stops = None,
    json_schema: JsonSchema = None, context: Context = None, block: Block = None, tokenizer: TokenizerFile = None,
    activations: Activations = None, cache: Cache = None, cc: Cc = None, as_json: Json = False,
) -> int:  # fmt: skip
    """Talk to a language model: messages line by line from stdin, answers as they come."""
    from tilewright.language.conversation.dialogue import Dialogue
    from tilewright.language.conversation.speaking import Asked
    from tilewright.language.sampler import Sampling
    from tilewright.language.text.stop_words import stop_words

    sampling = Sampling(temperature, top_k, top_p, repetition_penalty, seed, min_p)
    stops, schema = stop_words(stop), read_schema(json_schema)
    sizes = {"context": context, "block": block, "activations": activations, "cache": cache}
    lm = opened(model, planning, tokenizer, target, cc=cc, **sizes)
    talker = lm.talker(chat_template)
    talker.words.check()
    if schema is not None:
        talker.words.json_text(schema)
    asked = Asked(lm.summary.context if tokens is None else tokens, sampling)
    dialogue = Dialogue(talker, asked, stops, schema, system)
    if load is not None:
        dialogue.load(load)
    _Console(dialogue, as_json).run()
    return AGREES


def opened(model: Path, planning: Sizes, tokenizer: Path | None, target: str, **options: Any) -> LanguageModel:
    """A model that is built for this machine; `options` as `LanguageModel.compile` has them."""
    from tilewright import targets
    from tilewright.language.compiling import able_targets
    from tilewright.language.model import LanguageModel
    from tilewright.target.runner import HostProcess

    if not isinstance(targets.find(target).runner, HostProcess):
        what = "has no sessions: its programs read one text"
        hint = f"use cpu or generic for chat and serve; tilewright generate runs on {', '.join(able_targets())}"
        raise CompileError(f"target {target}", what, hint)
    with progress_display() as progress:
        progress("reading the model")
        lm = LanguageModel.load(model, tokenizer)
        lm.compile(target, settings=settings_of(planning, target, None), progress=counted(progress), **options)
        progress("compiling the C")
        lm.build()
    return lm


class _Console:
    """Lines in, answers out."""

    def __init__(self, dialogue: Dialogue, as_json: bool) -> None:
        self.dialogue, self.as_json = dialogue, as_json
        self.is_terminal = sys.stdin is not None and sys.stdin.isatty() and not as_json
        if self.is_terminal:
            _edit_lines()
            print("/help lists commands", file=sys.stderr)

    def run(self) -> None:
        for line in self._lines():
            command, _, rest = line.partition(" ")
            if command == "/exit":
                return
            try:
                self._do(command, rest.strip()) if line.startswith("/") else self._answer(line)
            except CompileError as error:
                self._refuse(error)

    def _lines(self) -> Iterator[str]:
        """What is typed, one message after another; until the end, or until somebody really wants to go."""
        held: list[str] = []
        while True:
            try:
                line = self._line("... " if held else "> ")
            except KeyboardInterrupt:
                held = []
                print("\n(Ctrl-D or /exit ends)", file=sys.stderr)
                continue
            if line is None:
                return
            if line.endswith("\\"):
                held.append(line[:-1])
                continue
            whole, held = "\n".join([*held, line]), []
            if whole.strip():
                yield whole

    def _line(self, prompt: str) -> str | None:
        if self.is_terminal:
            try:
                return input(prompt)
            except EOFError:
                print(file=sys.stderr)
                return None
        line = sys.stdin.readline() if sys.stdin is not None else ""
        return line.rstrip("\n") if line else None

    def _answer(self, text: str) -> None:
        start = time.perf_counter()
        pieces = self.dialogue.say(text)
        try:
            for piece in pieces:
                if not self.as_json:
                    show(visible(piece), end="")
        except KeyboardInterrupt:
            pieces.close()  # type: ignore[attr-defined]
        self._tell(time.perf_counter() - start)

    def _tell(self, seconds: float) -> None:
        reply = self.dialogue.last
        if self.as_json and reply is not None:
            print_json("chat", {
                "status": "ok", "text": reply.so_far, "stopped": reply.stopped, "tokens": reply.tokens,
                "prompt_tokens": reply.prompt_tokens, "reused_tokens": reply.reused_tokens, "seconds": seconds,
            })  # fmt: skip
            return
        show("")
        if self.is_terminal and reply is not None:
            read = f"{reply.prompt_tokens - reply.reused_tokens} of {reply.prompt_tokens} tokens read"
            ended = ENDED_BY.get(reply.stopped, reply.stopped)
            print(f"[{read}, {reply.tokens} said, {seconds:.1f} s, ended by {ended}]", file=sys.stderr)

    def _refuse(self, error: CompileError) -> None:
        from tilewright.cli.process import error_dict
        from tilewright.report.errors import print_error

        print_json("error", error_dict(error)) if self.as_json else print_error(error)

    def _do(self, command: str, rest: str) -> None:
        commands: Mapping[str, Callable[[str], str]] = {
            "/help": lambda _: HELP, "/reset": self._reset, "/system": self._system, "/save": self._save,
            "/load": self._load,
        }  # fmt: skip
        if command not in commands:
            hint = "/help lists commands; begin a message with a space where it begins with /"
            raise CompileError(command, "is no command", hint)
        print(commands[command](rest), file=sys.stderr)

    def _reset(self, _: str) -> str:
        self.dialogue.reset()
        return "forgotten"

    def _system(self, text: str) -> str:
        self.dialogue.system = text
        return "told first from now on" if text else "told nothing first from now on"

    def _save(self, name: str) -> str:
        self.dialogue.save(_path(name))
        return f"{len(self.dialogue.messages)} messages in {name}"

    def _load(self, name: str) -> str:
        is_read = self.dialogue.load(_path(name))
        again = "" if is_read else ", to be read again: there is no state of this model"
        return f"{len(self.dialogue.messages)} messages from {name}{again}"


def _path(name: str) -> Path:
    if not name:
        raise CompileError("file", "is not named", "/save FILE, /load FILE")
    return Path(name).expanduser()


def _edit_lines() -> None:
    """Arrow keys and what was typed before, where the system has them."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return
