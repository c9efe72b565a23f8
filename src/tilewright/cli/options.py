"""Options that commands share: what they are called, and what is made of their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.errors import CompileError

if TYPE_CHECKING:
    from tilewright.target.settings import Settings


def complete_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES)


def complete_target() -> list[str]:
    from tilewright import targets

    return targets.names()


def complete_board() -> list[str]:
    from tilewright import targets

    return targets.board_names()


def complete_onnx_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES[:-1])


Model = Annotated[Path, typer.Argument(help="ONNX or TFLite, a .pt2 or .keras file, or a SavedModel.")]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        help="What to compile for; `tilewright targets` lists them. [default: generic, or the board's core]",
        autocompletion=complete_target,
        show_default=False,
    ),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of the public C symbols; the file's name by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Emit = Annotated[
    str,
    typer.Option(
        "--emit", metavar="STAGE", autocompletion=complete_stage,
        help="Print graph, quantised, lowered, fitted, mapped, tiled, schedule or c, and stop.",
    ),
]  # fmt: skip
OnnxFile = Annotated[
    Path | None, typer.Option("--onnx", metavar="FILE", help="Write a stage as ONNX, to look at in Netron, and stop.")
]
OnnxStage = Annotated[
    str,
    typer.Option("--stage", help="For --onnx: any stage but c.", autocompletion=complete_onnx_stage),
]
InputFile = Annotated[Path | None, typer.Option("--inputs", help="Inputs as .npz; random ones without it.")]
Cc = Annotated[str | None, typer.Option("--cc", help="C compiler; $CC (for this machine) or the pip-installed zig.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Cores of the cluster to use.")]
L1 = Annotated[int | None, typer.Option("--l1", metavar="BYTES", min=1, help="Bytes of L1, where tiles are computed.")]
L2 = Annotated[int | None, typer.Option("--l2", metavar="BYTES", min=1, help="Bytes of L2, where tensors live.")]
MemorySizes = Annotated[
    list[str] | None,
    typer.Option("--memory", metavar="NAME=BYTES", help="Bytes of a memory to use. Repeatable."),
]
HomeMemory = Annotated[
    str, typer.Option("--home", metavar="MEMORY", help="Where constants live, for example L3; L2 if they fit.")
]
Buffering = Annotated[str, typer.Option("--buffering", help="single, double or auto.")]
Engines = Annotated[str, typer.Option("--engines", help="Engines to use, by name, with commas; all by default.")]
WeightMemory = Annotated[
    str,
    typer.Option(
        "--weight-memory", metavar="on|off", help="Whether a memory for weights may be used, if there is one."
    ),
]
Place = Annotated[
    list[str] | None, typer.Option("--place", metavar="NODE=ENGINE", help="The engine for a node. Repeatable.")
]
CodeInL1 = Annotated[
    bool,
    typer.Option(
        "--code-in-l1",
        help="Put code into what L1 has free. Unconfirmed: the chip's public simulator does not take such programs.",
    ),
]
Numerics = Annotated[
    str,
    typer.Option(
        "--numerics", metavar="exact|hardware",
        help="Requantise to the bit as the network says, or as the hardware does it, where that differs hardly ever. "
        "By default the hardware's where the network's format leaves the rounding open and the target gains from it.",
    ),
]  # fmt: skip
PackWeights = Annotated[
    bool,
    typer.Option(
        "--pack-weights",
        help="Store weights of at most 4 bits in 2 or 4 bits on a target without a cluster: less flash, more cycles.",
    ),
]
Isa = Annotated[
    str,
    typer.Option("--isa", metavar="NAME", help="Instructions of a board's core, for example rv32imafc."),
]
Cpu = Annotated[
    str,
    typer.Option("--cpu", metavar="NAME", help="Of the target cpu: native, x86-64-v3, cortex-a76 and others."),
]
Threads = Annotated[
    int,
    typer.Option("--threads", metavar="N", help="Of the target cpu: threads that compute a layer together."),
]
Pin = Annotated[bool, typer.Option("--pin", help="Keep each of the --threads on one processor.")]
Clock = Annotated[
    float | None,
    typer.Option("--clock", metavar="MHZ", help="Clock of a board, which its cycles are turned into time with."),
]
BoardName = Annotated[
    str,
    typer.Option(
        "--board", metavar="NAME|FILE.toml", autocompletion=complete_board,
        help="A board with its core, clock and memories; `tilewright targets` lists them.",
    ),
]  # fmt: skip
Optimise = Annotated[
    str,
    typer.Option(
        "--optimise", metavar="cycles|ram",
        help="Without a cluster: few cycles, or little RAM for more cycles.",
    ),
]  # fmt: skip
EmulatorName = Annotated[
    str,
    typer.Option("--emulator", metavar="NAME", help="What runs a Cortex-M's program: unicorn, or qemu if installed."),
]
CopiedWeights = Annotated[
    int,
    typer.Option(
        "--copy-weights", metavar="BYTES", min=0,
        help="RAM of a board for copies of weights that flash delivers slowly, as far as they fit.",
    ),
]  # fmt: skip
Stack = Annotated[
    int | None,
    typer.Option("--stack", metavar="BYTES", min=0, help="Stack of a board's program, in its RAM."),
]
Accelerators = Annotated[
    list[str] | None,
    typer.Option(
        "--accelerator", metavar="FOLDER[:NAME=VALUE,...]",
        help="A declared accelerator, with values for its parameters. Repeatable; twice the same folder is two units.",
    ),
]  # fmt: skip
KernelFolders = Annotated[
    list[str] | None,
    typer.Option(
        "--kernels", metavar="FOLDER[:NAME=VALUE,...]",
        help="Kernels from outside the package, preferred to the target's own. Repeatable.",
    ),
]  # fmt: skip
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.0, help="Work of the solver, in about seconds.")]


@dataclass(frozen=True)
class Planning:
    """What commands that plan let a user ask of the target."""

    cores: Cores = None
    l1: L1 = None
    l2: L2 = None
    home: HomeMemory = ""
    buffering: Buffering = "auto"
    engines: Engines = ""
    weight_memory: WeightMemory = "on"
    place: Place = None
    memory: MemorySizes = None
    code_in_l1: CodeInL1 = False
    time_limit: TimeLimit = 10.0
    numerics: Numerics = ""
    pack_weights: PackWeights = False
    cpu: Cpu = ""
    threads: Threads = 1
    pin: Pin = False
    isa: Isa = ""
    clock: Clock = None
    emulator: EmulatorName = ""
    stack: Stack = None
    copy_weights: CopiedWeights = 0
    accelerator: Accelerators = None
    kernels: KernelFolders = None
    board: BoardName = ""
    optimise: Optimise = "cycles"

    def target(self, named: str) -> str:
        """What is compiled for: the target that is named, or the board's."""
        return target_of(named, self.board)

    def settings(self) -> Settings:
        from tilewright.target.settings import GOALS, Settings

        if self.optimise not in GOALS:
            raise CompileError(f"--optimise {self.optimise}", "is unknown", f"use {' or '.join(GOALS)}")
        if self.buffering not in ("single", "double", "auto"):
            raise CompileError(f"--buffering {self.buffering}", "is unknown", "use single, double or auto")
        if self.weight_memory not in ("on", "off"):
            raise CompileError(f"--weight-memory {self.weight_memory}", "is unknown", "use on or off")
        return Settings(
            cores=self.cores, l1=self.l1, l2=self.l2, home=self.home, buffering=self.buffering,
            engines=tuple(filter(None, self.engines.split(","))), time_limit=self.time_limit,
            weight_memory=self.weight_memory == "on",
            memories=tuple((name.lower(), size) for name, size in numbers("--memory", self.memory).items()),
            placed=tuple(pairs("--place", self.place).items()), code_in_l1=self.code_in_l1, numerics=self.numerics,
            packed_weights=self.pack_weights, processor=self.cpu, threads=self.threads, pins_threads=self.pin,
            isa=self.isa, clock_mhz=self.clock, stack=self.stack, emulator=self.emulator,
            copied_weights=self.copy_weights,
            accelerators=tuple(self.accelerator or ()), kernels=tuple(self.kernels or ()), optimise=self.optimise,
        )  # fmt: skip


def target_of(named: str, board: str) -> str:
    """A board says for which core; another one may not be asked for besides."""
    from tilewright import targets

    if not board:
        return named or "generic"
    core = targets.find_board(board).platform.groups[0].name
    if named not in ("", core, board):
        raise CompileError(
            f"--target {named}", f"contradicts --board {board}, whose core is {core}", "leave one of them out"
        )
    return board


EXAMPLES = {
    "--shape": "1,3,48,192", "--bind": "16000", "--dim": "1", "--place": "cluster", "--memory": "64000",
    "--state": "output",
}  # fmt: skip
"""Values for hints."""


def pairs(option: str, words: Sequence[str] | None) -> dict[str, str]:
    """`name=value` words; a name may hold an equals sign, a value not."""
    found: dict[str, str] = {}
    for word in words or ():
        name, sign, value = word.rpartition("=")
        if not sign or not name or not value:
            given = name or _name_in(option, word) or "NAME"
            example = f"{given}={EXAMPLES[option]}" if option in EXAMPLES else "input=int8"
            raise CompileError(f"{option} {word}", "is not NAME=VALUE", f"for example {option} {example}")
        if found.setdefault(name, value) != value:
            raise CompileError(f"{option} {word}", f"contradicts {option} {name}={found[name]}", "leave one out")
    return found


def numbers(option: str, words: Sequence[str] | None) -> dict[str, int]:
    """`name=number` words."""
    found = {}
    for name, value in pairs(option, words).items():
        # How many bytes a memory has, and that a negative number is none, the target says.
        digits = value.removeprefix("-") if option == "--memory" else value
        if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
            meant = _in_bytes(value) if option == "--memory" else None
            example = f"{option} {name}={meant or EXAMPLES[option]}"
            hint = f"in bytes: {example}" if meant else f"for example {example}"
            raise CompileError(f"{option} {name}={value}", "the size is not a whole number", hint)
        found[name] = int(value)
    return found


def _name_in(option: str, word: str) -> str:
    """What stands before the equals sign, or before whatever stands for it: memories are called by one word."""
    found = word.partition("=")[0]
    return "".join(takewhile(str.isalnum, found)) if option == "--memory" else found


UNITS = {"k": 1024, "m": 1024 * 1024}


def _in_bytes(value: str) -> int | None:
    """What was meant by 64K, 64KB or 64KiB."""
    found = re.fullmatch(r"(\d{1,6})([km])(i?b)?", value.lower())
    return int(found[1]) * UNITS[found[2]] if found else None


def sizes(words: Sequence[str] | None) -> dict[str, int]:
    return numbers("--dim", words)
