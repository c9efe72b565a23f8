"""`tilewright generate`: a language model goes on with a text, on this machine or on a virtual SoC."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.help import PlainCommand
from tilewright.cli.json_schema import JsonSchema, read_schema
from tilewright.cli.options import Cc, Json, Name, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display, show, uninterrupted
from tilewright.errors import CompileError, present, printable

if TYPE_CHECKING:
    from tilewright.language.generation import Generation
    from tilewright.language.model import LanguageModel
    from tilewright.language.step_profile import Share
    from tilewright.target.settings import Settings

QUANTISE, BESIDE = "--quantise", "calibration.txt beside MODEL"
"""An option that may stand alone, and what it means then."""
PLANNING = 3.0

Checkpoint = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A folder in Hugging Face's format, a GGUF or llama2.c file, or ONNX with past_key_values.",
    ),
]
Prompt = Annotated[str, typer.Argument(metavar="PROMPT", help="The text to continue; - reads it from stdin.")]
Tokens = Annotated[int, typer.Option("--tokens", min=0, help="The most tokens to generate.")]
TokenizerFile = Annotated[
    Path | None, typer.Option("--tokenizer", metavar="FILE", help="tokenizer.json or .bin; beside MODEL by default.")
]
Text = Annotated[
    str | None,
    typer.Option(
        QUANTISE, metavar="[TEXT.txt]",
        help="Quantise to integers, calibrated on a text; without a file, on calibration.txt beside MODEL.",
    ),
]  # fmt: skip
WeightBits = Annotated[int, typer.Option("--weight-bits", help="Bits of quantised weights: 2 to 8.")]
Context = Annotated[
    int | None, typer.Option("--context", help="Context length in tokens; the model's, at most 512, by default.")
]
Block = Annotated[
    int | None, typer.Option("--block", help="The most tokens per prefill step: 16, or on a computer in floats 512.")
]
Temperature = Annotated[float, typer.Option("--temperature", help="0 always takes the most likely token.")]
TopK = Annotated[int, typer.Option("--top-k", help="Sample from this many of the most likely tokens; 0 is all.")]
TopP = Annotated[
    float, typer.Option("--top-p", help="Sample from the most likely tokens that together have this probability.")
]
MinP = Annotated[
    float, typer.Option("--min-p", help="Sample from tokens that have this share of the most likely one's probability.")
]
Penalty = Annotated[
    float, typer.Option("--repetition-penalty", help="Above 1, tokens that occurred before become less likely.")
]
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of the sampler; the same seed gives the same text on all targets.")
]
Greedy = Annotated[
    bool,
    typer.Option("--greedy", help="A program without sampler and logits, which always takes the most likely token."),
]
Activations = Annotated[
    str | None,
    typer.Option(
        "--activations", metavar="q8|f32",
        help="How activations meet weights in blocks (GGUF): as bytes with a scale for each 32 (the default, "
        "except on a GPU), or as floats.",
    ),
]  # fmt: skip
Cache = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="f16|f32",
        help="Type in which keys and values are kept; on cpu f16 if weights are shorter than f32.",
    ),
]
NoStop = Annotated[bool, typer.Option("--no-stop", help="Continue after an end-of-text token.")]
Stops = Annotated[
    list[str] | None, typer.Option("--stop", metavar="TEXT", help="Stop before this text if it appears. Repeatable.")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Also write the C to this folder.")
]
Weights = Annotated[
    str,
    typer.Option(
        "--weights", metavar="file|c", help="Store weights in the folder of C as a file to be mapped, or as C."
    ),
]
PlanningTime = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        min=0.0,
        help=f"Limit of the planner's search, in seconds (approximate); {PLANNING:g} by default on a cluster.",
    ),
]


class GenerateCommand(PlainCommand):
    """With an option whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        found: list[str] = super().parse_args(ctx, with_values(args))
        return found


def with_values(words: Sequence[str]) -> list[str]:
    """The words of a command, with the value that --quantise has where none is given."""
    found: list[str] = []
    for word, after in zip(words, [*words[1:], "--"], strict=False):
        found.append(word)
        if word == QUANTISE and after.startswith("-"):
            found.append(BESIDE)
    return found


class Sizes(Planning):
    """What a language model may ask of a target."""

    names = ("cores", "l1", "l2", "engines", "weight_memory", "memories", "cpu", "threads", "pins_threads")
    boards = False


def generate(
    model: Checkpoint, planning: Sizes, prompt: Prompt = "", target: TargetName = "generic", tokens: Tokens = 100,
    quantise: Text = None, weight_bits: WeightBits = 8, context: Context = None, block: Block = None,
    temperature: Temperature = 0.0, top_k: TopK = 0, top_p: TopP = 1.0, min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0, seed: Seed = 0, greedy: Greedy = False, no_stop: NoStop = False,
    stop: Stops = None, json_schema: JsonSchema = None, output: Output = None, weights: Weights = "file",
    tokenizer: TokenizerFile = None, name: Name = "", activations: Activations = None,
    cache: Cache = None, time_limit: PlanningTime = None, cc: Cc = None, as_json: Json = False,
) -> int:  # fmt: skip
    """Continue a text with a language model, and report speed, energy and memory."""
    from tilewright.language.arguments import tokens_of
    from tilewright.language.model import LanguageModel
    from tilewright.language.sampler import Sampling

    settings = settings_of(planning, target, time_limit)
    sampling = Sampling(temperature, top_k, top_p, repetition_penalty, seed, min_p)
    if greedy and not sampling.is_greedy:
        what = "has no logits that --temperature or --repetition-penalty could change"
        raise CompileError("--greedy", what, "leave one of them out")
    _check_output(output, weights)
    tokens_of(tokens)
    schema = read_schema(json_schema)
    text = _from_stdin() if prompt == "-" else prompt
    with progress_display() as progress:
        progress("reading the model")
        lm = LanguageModel.load(model, tokenizer)
        # Said before a minute of work, not behind it.
        lm.checked_prompt(text, context)
        lm.compile(
            target, context=context, block=block, quantise=_calibration(quantise), weight_bits=weight_bits,
            settings=settings, name=name, cc=cc, progress=counted(progress), greedy=greedy,
            activations=activations, cache=cache,
        )  # fmt: skip
        files = _saved(lm, output, weights)
        progress("compiling the C")
        lm.build()
    pieces = lm.generate(
        text,
        tokens,
        temperature,
        top_k,
        top_p,
        repetition_penalty,
        seed,
        not no_stop,
        min_p,
        stop or (),
        schema,
    )
    _stream(pieces, text if isinstance(text, str) else text.decode(), as_json)
    given = present(lm.last, "generate", "no text was given")
    with progress_display() as progress:
        progress("measuring where the time goes")
        spent = lm.spent()
    if as_json:
        written = {} if output is None else {"output": str(output), "files": files}
        print_json(
            "generate", {"status": "ok", **given.as_dict(), "operators": [one.as_dict() for one in spent], **written}
        )
    else:
        _print(lm, given, spent, output, files)
    return AGREES


def settings_of(planning: Sizes, target: str, time_limit: float | None) -> Settings | None:
    """None where nothing is asked for: then a target need not be looked up for what is kept of it."""
    from tilewright.target.settings import DEFAULT, has_option

    asked = planning.settings()
    if time_limit is None and asked == DEFAULT:
        return None
    from tilewright import targets

    usual = PLANNING if has_option(targets.find(target), "time_limit") else DEFAULT.time_limit
    return replace(asked, time_limit=usual if time_limit is None else time_limit)


def _check_output(output: Path | None, weights: str) -> None:
    """Before a minute of work, not behind it."""
    if output is None and weights == "file":
        return
    from tilewright.codegen.folder import check_place
    from tilewright.language.saving import check_form

    check_form(weights)
    if output is not None:
        check_place(output)


def _from_stdin() -> bytes:
    hint = "give the text itself, or a file: < prompt.txt"
    if sys.stdin is None:
        raise CompileError("prompt", "cannot be read: stdin is closed", hint)
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise CompileError("prompt", f"cannot be read from stdin: {error.strerror or error}", hint) from None


def _calibration(given: str | None) -> Path | bool | None:
    return True if given == BESIDE else None if given is None else Path(given)


def counted(progress: Callable[[str], None]) -> Callable[[str, int, int], None]:
    return lambda what, done, total: progress(f"{what} {done}/{total}" if total else what)


def _saved(lm: LanguageModel, output: Path | None, weights: str) -> list[str]:
    if output is None:
        return []
    with uninterrupted():
        return lm.save(output, weights)


def _stream(pieces: Iterator[str], prompt: str, as_json: bool) -> None:
    """The text as it comes; control characters are a model's data, and a terminal would obey them."""
    if as_json:
        for _ in pieces:
            pass
        return
    show(visible(prompt), end="")
    for piece in pieces:
        show(visible(piece), end="")
    show("")


def visible(text: str) -> str:
    return "".join(c if c == "\t" else printable(c) for c in text)


def _print(lm: LanguageModel, given: Generation, spent: Sequence[Share], output: Path | None, files: list[str]) -> None:
    from tilewright.report.console import console
    from tilewright.report.generation import print_generation

    print_generation(console(stderr=True), lm.description, given, spent)
    if output is not None:
        print(printable(f"{len(files)} files in {output}"), file=sys.stderr)
