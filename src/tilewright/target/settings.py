"""What a user may ask of a target: every option, declared once with the machines that have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.platform import Flavour
from tilewright.target.options import FOLDERS, PAIRS, SIZES, SWITCH, WORDS, Machines, Option, option, option_of
from tilewright.target.runner import CAPABILITIES, GPU_DEFINITIONS, GpuProcess

if TYPE_CHECKING:
    from tilewright.target.target import Target

CYCLES, RAM = "cycles", "ram"
GOALS = (CYCLES, RAM)
"""What a network may be compiled for first."""
PRECISIONS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""The element types of floats, as users call them."""
CODE_IN_L1 = "link_code_in_l1.ld"
"""The linker script of a target whose L1 may hold code."""
EXTENDED = (Flavour.XPULPV2, Flavour.COREV, Flavour.SNITCH)
"""Cores that take a user's instructions."""
CLUSTER, BOARD, COMPUTER = "Targets with a cluster", "Targets without a cluster", "Target cpu"
GPU = "Target gpu"
"""Headings of the options that are for some targets only."""


def has_sizes(target: Target) -> bool:
    """Whether its memories have sizes of their own, of which less or more may be asked for."""
    return target.is_tiled or any(memory.holds for memory in target.memories)


def may_have_code_in_l1(target: Target) -> bool:
    return CODE_IN_L1 in target.runtime_files()


def has_own_cores(target: Target) -> bool:
    """Whether the virtual SoC has its cores, and not an emulator."""
    chip = target.runner.chip
    return chip is not None and not target.runner.emulator and all(g.flavour in EXTENDED for g in chip.groups)


NO_CLUSTER = "target {target} has no cluster whose cores, tiles or buffering could be set"
ANOTHER = "leave the options out, or choose a target with a cluster"
ANY = Machines(lambda target: True, "")
TILED = Machines(lambda target: target.is_tiled, NO_CLUSTER, ANOTHER, CLUSTER)
WEIGHED = Machines(
    lambda target: target.is_tiled or any(engine.transfers for engine in target.engines), NO_CLUSTER, ANOTHER, CLUSTER
)  # fmt: skip
PLANNED = Machines(has_sizes, NO_CLUSTER, ANOTHER, CLUSTER)
SIZED = Machines(has_sizes, "target {target} has no memory whose size could be set: the caller provides it", ANOTHER)
WITH_CODE_IN_L1 = Machines(
    may_have_code_in_l1, "target {target} runs no code from L1", "leave the option out", CLUSTER
)  # fmt: skip
PACKING = Machines(
    lambda target: not target.is_tiled, "packs weights by itself where that saves cycles", "leave --pack-weights out",
    BOARD, where="target {target}",
)  # fmt: skip
WHOLE_LAYERS = Machines(
    lambda target: not target.is_tiled, "target {target} has a cluster, which computes in tiles anyway",
    "leave it out, or give less memory: --memory NAME=BYTES", BOARD,
)  # fmt: skip
KNOWN_CORE = Machines(
    lambda target: bool(target.agents.isa), "target {target} does not have this option", heading=BOARD
)  # fmt: skip
WITH_STACK = Machines(
    lambda target: target.agents.stack > 0, "target {target} does not have this option", heading=BOARD
)  # fmt: skip
COMPUTERS = Machines(
    lambda target: target.for_processor is not None, "is for target cpu, not for {target}",
    "leave it out, or --target cpu", COMPUTER,
)  # fmt: skip
WITH_GPU = Machines(
    lambda target: isinstance(target.runner, GpuProcess), "is for target gpu, not for {target}",
    "leave it out, or --target gpu", GPU,
)  # fmt: skip
SIMULATED = Machines(
    lambda target: target.runner.chip is not None, "runs on this machine, where there are no accelerators",
    "choose one on the virtual SoC: `tilewright targets` lists them", where="target {target}",
)  # fmt: skip
OWN_CORES = Machines(
    has_own_cores, "has no core that instructions could be added to",
    "choose a target whose RISC-V cores are simulated: `tilewright targets` lists them", where="target {target}",
)  # fmt: skip
SHORT_FLOATS = Machines(
    lambda target: bool(target.half_floats), "target {target} computes floats in 32 bits",
    "leave it out, or choose a target that has it: gpu",
)  # fmt: skip
UNWEIGHED = Machines(
    lambda target: not target.is_tiled, "chooses kernels by measured cycles, which those of --kernels do not have",
    "choose a target without a cluster: generic, rv32 or a Cortex-M", where="target {target}",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What to ask of a target. Fields that are left at their defaults follow the target."""

    cores: int | None = option(
        None, "--cores", "Number of the cluster's cores to use; all by default.", TILED, least=1
    )  # fmt: skip
    l1: int | None = option(
        None, "--l1", "Bytes of L1 (for tiles) to use; all by default.", TILED, metavar="BYTES", least=1
    )  # fmt: skip
    l2: int | None = option(
        None, "--l2", "Bytes of L2 (for tensors) to use; all by default.", TILED, metavar="BYTES", least=1
    )  # fmt: skip
    home: str = option(
        "", "--home", "The memory for constants, for example L3; L2 if they fit by default.", TILED, metavar="MEMORY"
    )  # fmt: skip
    buffering: str = option(
        "auto", "--buffering", "Buffers of tiles: single, double, or auto (the faster one).", TILED,
        choices=("single", "double", "auto"),
    )  # fmt: skip
    engines: tuple[str, ...] = option(
        (), "--engines", "Engines to use, separated by commas, for example cluster; all by default.", ANY,
        metavar="NAMES", form=WORDS
    )  # fmt: skip
    time_limit: float = option(
        10.0, "--time-limit", "Limit of the planner's search, in seconds (approximate).", PLANNED, least=0.0
    )  # fmt: skip
    weight_memory: bool = option(
        True, "--weight-memory", "Whether to use the target's weight memory (WMEM), if it has one.", TILED,
        metavar="on|off", form=SWITCH,
    )  # fmt: skip
    """Whether accelerators may have their weights, and activations be, in the memory that is theirs."""
    memories: tuple[tuple[str, int], ...] = option(
        (), "--memory", "Bytes of a memory to use, for example l3=4000000 or ram=65536. Repeatable.", SIZED,
        metavar="NAME=BYTES", form=SIZES,
    )  # fmt: skip
    """Names in small letters; `l1` and `l2` are short forms for the memory of the tiles and that of the tensors."""
    placed: tuple[tuple[str, str], ...] = option(
        (), "--place", "Compute a node on this engine. Repeatable.", WEIGHED, metavar="NODE=ENGINE", form=PAIRS
    )  # fmt: skip
    code_in_l1: bool = option(
        False, "--code-in-l1",
        "Put code into unused L1. Unconfirmed: the chip's public simulator does not run such programs.",
        WITH_CODE_IN_L1,
    )  # fmt: skip
    numerics: str = option(
        "", "--numerics", "Requantise bit-exactly as the network defines it, or as the hardware does where results "
        "hardly ever differ. Default: hardware for ONNX on siracusa and mempool, exact for .tflite.", ANY,
        choices=("", "exact", "hardware"),
    )  # fmt: skip
    precision: str = option(
        "fp32", "--precision", "How floats are stored where the target has kernels for it; sums are in 32 bits.",
        SHORT_FLOATS, choices=tuple(PRECISIONS),
    )  # fmt: skip
    packed_weights: bool = option(
        False, "--pack-weights", "Store weights that fit 4 bits in 2 or 4 bits. Less flash, more cycles.", PACKING
    )  # fmt: skip
    """Where links bring tiles, what that costs decides."""
    pinned: tuple[tuple[str, str], ...] = option((), "", "", TILED)
    """Digests of constants (`ir/digest.py`) and the memory that each lives in already, as another network of the same
    program has it."""
    accelerators: tuple[str, ...] = option(
        (), "--accelerator",
        "An accelerator of your own, with its parameters. Repeatable; the same folder twice is two units.", SIMULATED,
        metavar="FOLDER[:NAME=VALUE,...]", form=FOLDERS,
    )  # fmt: skip
    instructions: tuple[str, ...] = option(
        (), "--instruction", "An instruction of your own, declared in this folder. Repeatable.", OWN_CORES,
        metavar="FOLDER", form=FOLDERS,
    )  # fmt: skip
    cpu: str = option(
        "", "--cpu", "The processor: native (the default), x86-64-v3, cortex-a76, rv64gcv and others.", COMPUTERS,
        metavar="NAME",
    )  # fmt: skip
    gpu: str = option(
        "", "--gpu", "What launches a GPU's kernels: NVIDIA's driver, OpenCL, or nothing (C on this machine); by "
        "default the first that is available.", WITH_GPU, choices=("", *GPU_DEFINITIONS),
    )  # fmt: skip
    capability: str = option(
        "", "--capability", "Compute capability of the oldest NVIDIA GPU that is to run it; 8.0 by default.", WITH_GPU,
        choices=("", *CAPABILITIES),
    )  # fmt: skip
    threads: int = option(1, "--threads", "Number of threads.", COMPUTERS, metavar="N")
    """Those that compute a layer together."""
    pins_threads: bool = option(False, "--pin", "Pin each thread to one processor.", COMPUTERS)
    kernels: tuple[str, ...] = option(
        (), "--kernels", "Kernels of your own, preferred to the target's. Repeatable.", UNWEIGHED,
        metavar="FOLDER[:NAME=VALUE,...]", form=FOLDERS,
    )  # fmt: skip
    isa: str = option(
        "", "--isa", "Target rv32: the instruction set, for example rv32imafc; the core's by default.", KNOWN_CORE,
        metavar="NAME",
    )  # fmt: skip
    clock_mhz: float | None = option(
        None, "--clock", "Clock, to convert cycles to time; the board's by default.", KNOWN_CORE, metavar="MHZ"
    )  # fmt: skip
    optimise: str = option(
        CYCLES, "--optimise", "For the fewest cycles, or for less RAM with more cycles.", WHOLE_LAYERS,
        choices=GOALS,
    )  # fmt: skip
    emulator: str = option(
        "", "--emulator", "What runs programs for Cortex-M: unicorn (the default where it has the core), or qemu if "
        "installed.", KNOWN_CORE, metavar="NAME",
    )  # fmt: skip
    stack: int | None = option(
        None, "--stack", "Size of the stack, by default the board's. On a cluster the least size of each core's, by "
        "default what kernels need.", WITH_STACK, metavar="BYTES", least=0,
    )  # fmt: skip
    """Bytes of RAM, or of where a plan puts the stacks of cores."""
    copied_weights: int = option(
        0, "--copy-weights", "RAM for copies of weights from flash with wait states, or that an NPU reads.", KNOWN_CORE,
        metavar="BYTES", least=0,
    )  # fmt: skip
    """Bytes of RAM, of those that are left."""


DEFAULT = Settings()
OPTIONS: Mapping[str, Option] = {one.name: option_of(one.metadata) for one in fields(Settings)}
"""By the names of fields."""


WHOLE, REAL = (int,), (int, float)
NUMBERS: Mapping[str, tuple[type, ...]] = {
    OPTIONS[one.name].name: REAL if "float" in str(one.type) else WHOLE
    for one in fields(Settings)
    if str(one.type).removesuffix(" | None") in ("int", "float", "<class 'int'>", "<class 'float'>")
}
"""Options that are numbers, and what these may be."""


def has_option(target: Target, name: str) -> bool:
    return OPTIONS[name].machines.has(target)


def check_options(target: Target, settings: Settings) -> None:
    """Refuse what a target does not have."""
    for name, one in OPTIONS.items():
        value = getattr(settings, name)
        if value != getattr(DEFAULT, name):
            one.check(value)
            if not one.machines.has(target):
                raise one.machines.refuse(one, value, target)


def with_options(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """Settings with what was asked for by itself, called as fields or options are; folders come on top of those that
    are there."""
    fields_of = {name: field for field, one in OPTIONS.items() for name in (field, one.name) if one.flag}
    changed: dict[str, Any] = {}
    for name, value in given.items():
        if name not in fields_of:
            near = get_close_matches(name, [*fields_of, "board", "target", "dims", "shapes", "name"])
            raise TypeError(f"'{name}' is no option of compile()" + (f": did you mean '{near[0]}'?" if near else ""))
        if value is not None:
            changed[fields_of[name]] = _value(OPTIONS[fields_of[name]], name, value, getattr(settings, fields_of[name]))
    return replace(settings, **changed)


def _check_number(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if kinds and (isinstance(value, bool) or not isinstance(value, kinds)):
        what = "is not a number" if kinds == REAL else "is not a whole number"
        raise CompileError(f"{name}={value!r}", what, "give it without quotes; 64 KiB are 65536")


def _value(one: Option, name: str, value: Any, before: Any) -> Any:
    """As a field has it."""
    _check_number(name, value, NUMBERS.get(one.name, ()))
    if isinstance(before, bool) and not isinstance(value, bool):
        if one.form != SWITCH or value not in ("on", "off"):
            raise CompileError(f"{name}={value!r}", "is neither True nor False", f"for example {name}={not before}")
        return value == "on"
    match one.form:
        case "folders":
            return (*before, *map(str, (value,) if isinstance(value, str | PathLike) else value))
        case "words":
            return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
        case "pairs" | "sizes":
            return tuple(value.items()) if isinstance(value, Mapping) else tuple(value)
    return value
