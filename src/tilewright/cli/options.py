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


CLUSTER, BOARD, COMPUTER = "Targets with a cluster", "Targets without a cluster", "Target cpu"
"""Headings of the options that are for some targets only."""


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


Model = Annotated[Path, typer.Argument(help="An .onnx, .tflite, .pt2 or .keras file, or the folder of a SavedModel.")]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        help="What to compile for; `tilewright targets` lists them. By default generic, or the board's core.",
        autocompletion=complete_target,
        show_default=False,
    ),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of all C symbols; the file's name by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Emit = Annotated[
    str,
    typer.Option(
        "--emit", metavar="STAGE", autocompletion=complete_stage,
        help="Print one stage and stop: graph, quantised, lowered, fitted, mapped, tiled, schedule or c.",
    ),
]  # fmt: skip
OnnxFile = Annotated[
    Path | None,
    typer.Option("--onnx", metavar="FILE", help="Write a stage as ONNX for a viewer such as Netron, and stop."),
]
OnnxStage = Annotated[
    str,
    typer.Option("--stage", help="The stage for --onnx; any but c.", autocompletion=complete_onnx_stage),
]
InputFile = Annotated[
    Path | None, typer.Option("--inputs", help="Inputs as .npz, one array per input; random ones by default.")
]
Cc = Annotated[
    str | None,
    typer.Option("--cc", help="C compiler. By default $CC for this machine, otherwise the pip-installed zig."),
]
Cores = Annotated[
    int | None,
    typer.Option(
        "--cores", rich_help_panel=CLUSTER, min=1, help="Number of the cluster's cores to use; all by default."
    ),
]
L1 = Annotated[
    int | None,
    typer.Option(
        "--l1", rich_help_panel=CLUSTER, metavar="BYTES", min=1, help="Bytes of L1 (for tiles) to use; all by default."
    ),
]
L2 = Annotated[
    int | None,
    typer.Option(
        "--l2",
        rich_help_panel=CLUSTER,
        metavar="BYTES",
        min=1,
        help="Bytes of L2 (for tensors) to use; all by default.",
    ),
]
MemorySizes = Annotated[
    list[str] | None,
    typer.Option(
        "--memory",
        metavar="NAME=BYTES",
        help="Bytes of a memory to use, for example l3=4000000 or ram=65536. Repeatable.",
    ),
]
HomeMemory = Annotated[
    str,
    typer.Option(
        "--home",
        rich_help_panel=CLUSTER,
        metavar="MEMORY",
        help="The memory for constants, for example L3; L2 if they fit by default.",
    ),
]
Buffering = Annotated[
    str,
    typer.Option(
        "--buffering", rich_help_panel=CLUSTER, help="Buffers of tiles: single, double, or auto (the faster one)."
    ),
]
Engines = Annotated[
    str, typer.Option("--engines", help="Engines to use, separated by commas, for example cluster; all by default.")
]
WeightMemory = Annotated[
    str,
    typer.Option(
        "--weight-memory",
        rich_help_panel=CLUSTER,
        metavar="on|off",
        help="Whether to use the target's weight memory (WMEM), if it has one.",
    ),
]
Place = Annotated[
    list[str] | None,
    typer.Option(
        "--place", rich_help_panel=CLUSTER, metavar="NODE=ENGINE", help="Compute a node on this engine. Repeatable."
    ),
]
CodeInL1 = Annotated[
    bool,
    typer.Option(
        "--code-in-l1",
        rich_help_panel=CLUSTER,
        help="Put code into unused L1. Unconfirmed: the chip's public simulator does not run such programs.",
    ),
]
Numerics = Annotated[
    str,
    typer.Option(
        "--numerics", metavar="exact|hardware",
        help="Requantise bit-exactly as the network defines it, or as the hardware does where results hardly ever "
        "differ. By default hardware, if the model's format leaves the rounding open and the target gains from it.",
    ),
]  # fmt: skip
PackWeights = Annotated[
    bool,
    typer.Option(
        "--pack-weights",
        rich_help_panel=BOARD,
        help="Store weights that fit 4 bits in 2 or 4 bits. Less flash, more cycles.",
    ),
]
Isa = Annotated[
    str,
    typer.Option(
        "--isa", rich_help_panel=BOARD, metavar="NAME", help="Target rv32: the instruction set, for example rv32imafc."
    ),
]
Cpu = Annotated[
    str,
    typer.Option(
        "--cpu",
        rich_help_panel=COMPUTER,
        metavar="NAME",
        help="The processor: native (the default), x86-64-v3, cortex-a76 and others.",
    ),
]
Threads = Annotated[
    int,
    typer.Option("--threads", rich_help_panel=COMPUTER, metavar="N", help="Number of threads."),
]
Pin = Annotated[bool, typer.Option("--pin", rich_help_panel=COMPUTER, help="Pin each thread to one processor.")]
Clock = Annotated[
    float | None,
    typer.Option(
        "--clock",
        rich_help_panel=BOARD,
        metavar="MHZ",
        help="Clock, to convert cycles to time; the board's by default.",
    ),
]
BoardName = Annotated[
    str,
    typer.Option(
        "--board", rich_help_panel=BOARD, metavar="NAME|FILE.toml", autocompletion=complete_board,
        help="A board with its core, clock and memories; `tilewright targets` lists them.",
    ),
]  # fmt: skip
Optimise = Annotated[
    str,
    typer.Option(
        "--optimise", rich_help_panel=BOARD, metavar="cycles|ram",
        help="For the fewest cycles, or for less RAM with more cycles.",
    ),
]  # fmt: skip
EmulatorName = Annotated[
    str,
    typer.Option(
        "--emulator",
        rich_help_panel=BOARD,
        metavar="NAME",
        help="What runs programs for Cortex-M: unicorn, or qemu if installed.",
    ),
]
CopiedWeights = Annotated[
    int,
    typer.Option(
        "--copy-weights", rich_help_panel=BOARD, metavar="BYTES", min=0,
        help="RAM for copies of weights from flash with wait states.",
    ),
]  # fmt: skip
Stack = Annotated[
    int | None,
    typer.Option("--stack", rich_help_panel=BOARD, metavar="BYTES", min=0, help="Size of the stack."),
]
Accelerators = Annotated[
    list[str] | None,
    typer.Option(
        "--accelerator", metavar="FOLDER[:NAME=VALUE,...]",
        help="An accelerator of your own, with its parameters. Repeatable; the same folder twice is two units.",
    ),
]  # fmt: skip
KernelFolders = Annotated[
    list[str] | None,
    typer.Option(
        "--kernels", metavar="FOLDER[:NAME=VALUE,...]",
        help="Kernels of your own, preferred to the target's. Repeatable.",
    ),
]  # fmt: skip
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        rich_help_panel=CLUSTER,
        min=0.0,
        help="Limit of the planner's search, in seconds (approximate).",
    ),
]


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
    """`name=value` words; a name may hold an equals sign, a value not. Memories have their names in any case."""
    found: dict[str, str] = {}
    for word in words or ():
        name, sign, value = word.rpartition("=")
        if not sign or not name or not value:
            given = name or _name_in(option, word) or "NAME"
            example = f"{given}={EXAMPLES[option]}" if option in EXAMPLES else "input=int8"
            raise CompileError(f"{option} {word}", "is not NAME=VALUE", f"for example {option} {example}")
        same = next((one for one in found if option == "--memory" and one.lower() == name.lower()), name)
        if found.setdefault(same, value) != value:
            raise CompileError(f"{option} {word}", f"contradicts {option} {same}={found[same]}", "leave one out")
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
