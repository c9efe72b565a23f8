"""What is said about a model on the command line: `--dim`, `--shape`, `--bind`, `--state` and others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.options import pairs, sizes
from tilewright.errors import CompileError, unreadable
from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.ir.types import Array

MODEL = "The model"
"""Heading of these options."""

Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        rich_help_panel=MODEL,
        metavar="NAME=SIZE",
        help="Size of a symbolic dimension, or a range such as NAME=1..8 within which each call sets it. Repeatable.",
    ),
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option(
        "--dtype",
        rich_help_panel=MODEL,
        metavar="INPUT=TYPE",
        help="Element type of an integer input that the file declares as FLOAT. Repeatable.",
    ),
]
TfliteRounding = Annotated[
    str,
    typer.Option(
        "--tflite-rounding", rich_help_panel=MODEL, metavar="RUNTIME",
        help="The runtime to agree with bit by bit: micro (the default), reference, optimised, single or float.",
    ),
]  # fmt: skip
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        rich_help_panel=MODEL,
        metavar="INPUT=SIZES",
        help="Shape of an input, for example x=1,3,48,192. Repeatable.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--bind", rich_help_panel=MODEL, metavar="INPUT=VALUE",
        help="Make an input a constant: a number, numbers separated by commas, or a .npy file. Repeatable.",
    ),
]  # fmt: skip

MaxTrips = Annotated[
    int | None,
    typer.Option(
        "--max-trips", rich_help_panel=MODEL, metavar="N",
        help="Most iterations of a Loop whose count depends on data; its stacked outputs get that many rows.",
    ),
]  # fmt: skip

RandomSeed = Annotated[
    int | None,
    typer.Option(
        "--random-seed", rich_help_panel=MODEL, metavar="N", min=0,
        help="Draw a model's random numbers once, at compile time, from this seed: all calls use the same ones.",
    ),
]  # fmt: skip

States = Annotated[
    list[str] | None,
    typer.Option(
        "--state", rich_help_panel=MODEL, metavar="INPUT=OUTPUT",
        help="Keep a state between calls: the input is the output of the call before, zeros at first. Repeatable.",
    ),
]  # fmt: skip

CheckExport = Annotated[
    bool,
    typer.Option(
        "--check-export/--no-check-export", rich_help_panel=MODEL,
        help="Compare a framework's model (.pt2, .keras, SavedModel) with what the framework itself computes.",
    ),
]  # fmt: skip

SIZES = re.compile(r"\d{1,10}([,x]\d{1,10})*")
WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Binding:
    """What commands that read a model let a user say about its inputs."""

    dim: Dims = None
    dtype: Dtypes = None
    shape: Shapes = None
    bind: Values = None
    state: States = None
    max_trips: MaxTrips = None
    random_seed: RandomSeed = None
    tflite_rounding: TfliteRounding = ""
    check_export: CheckExport = True

    def options(self) -> dict[str, Any]:
        """As `pipeline.import_model` takes it."""
        return {
            "dims": sizes(self.dim), "dtypes": pairs("--dtype", self.dtype),
            "shapes": {name: _shape(name, text) for name, text in pairs("--shape", self.shape).items()},
            "bind": {name: _value(name, text) for name, text in pairs("--bind", self.bind).items()},
            "states": pairs("--state", self.state), "tflite_rounding": self.tflite_rounding,
            "check_export": self.check_export, "max_trips": self.max_trips, "random_seed": self.random_seed,
        }  # fmt: skip


def _shape(name: str, text: str) -> tuple[int, ...]:
    if not SIZES.fullmatch(text):
        example = f"--shape {name}=1,3,48,192"
        raise CompileError(f"--shape {name}={text}", "is not a list of whole numbers", f"for example {example}")
    return tuple(int(size) for size in re.split("[,x]", text))


def _value(name: str, text: str) -> Array:
    if text.endswith(".npy"):
        return _read(name, Path(text))
    import numpy as np

    words = text.strip("[]").split(",")
    try:
        numbers = [_number(word.strip().lower()) for word in words]
    except ValueError:
        raise CompileError(
            f"--bind {name}={text}", "is neither numbers nor a .npy file",
            f"for example --bind {name}=16000, --bind {name}=1,2,3 or --bind {name}=file.npy",
        ) from None  # fmt: skip
    return np.asarray(numbers[0] if len(numbers) == 1 and "[" not in text else numbers)


def _number(word: str) -> int | float:
    if word in WORDS:
        return WORDS[word]
    try:
        return int(word, 0)
    except ValueError:
        return float(word)


def _read(name: str, path: Path) -> Array:
    """One array. Pickled objects are never loaded: the file is untrusted."""
    import numpy as np

    from tilewright.ir.arrays import MAX_FILE_BYTES

    where = f"--bind {name}={path}"
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CompileError(where, "is larger than 2 GiB", "bind smaller values")
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise unreadable(path, error, where) from None
    except (ValueError, EOFError) as error:
        raise CompileError(where, f"is not a .npy file: {error}", "save with numpy.save(file, array)") from None
    return np.asarray(loaded)
