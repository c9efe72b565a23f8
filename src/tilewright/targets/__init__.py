"""One folder per target, found by its name: `find("generic")` is TARGET of `generic/target.py`.

A family of targets that differ in their core shares a folder, and has TARGETS there. Boards are files in `boards/`
beside the target of their core, or a user's own; what is compiled for one has the board's name.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.target.board_file import SUFFIX, BoardFile, beside_npu, read_board
from tilewright.target.on_board import on_board
from tilewright.target.target import Target

PLUS = "+"
"""Between a core and the NPU beside it: cortex-m33+u65-256."""
STANDING_IN = {"cortex-m55": "cortex-m33"}
"""Beside an NPU: cores that only QEMU has, and those whose programs they run, too. With --emulator unicorn they are
these."""
FAMILIES = {
    "cortex_m": ("cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"),
    "mempool": ("itapool", "mempool", "minpool"),
    "rv32": ("rv32", "esp-rv32imc", "esp-rv32imafc", "hazard3", "nuclei-n205", "qingke-v4f"),
}
"""Folders, and the names of the targets there."""


def names() -> list[str]:
    """Folders with a target.py, or what lies there; others hold what several targets share."""
    folders = [path.parent.name for folder in __path__ for path in Path(folder).glob("*/target.py")]
    return sorted(name for folder in folders for name in FAMILIES.get(folder, (folder,)))


def find(name: str) -> Target:
    """A target by its name, or a board's by the name or the file of the board."""
    if is_board(_board_and_npu(name)[0]):
        return find_board(name)
    if PLUS in name:
        return _with_npu(*name.split(PLUS, 1))
    if name not in names():
        hint = f"{_meant(name)}known targets: {', '.join(names())}"
        raise CompileError(f"target '{name}'", "is unknown", hint)
    folder = next((folder for folder, members in FAMILIES.items() if name in members), name)
    module = importlib.import_module(f"{__name__}.{folder}.target")
    target: Target = module.TARGETS[name] if folder in FAMILIES else module.TARGET
    return target


def _meant(name: str) -> str:
    """The target or board that is called most alike, as a question."""
    close = get_close_matches(name, [*names(), *board_names()], 1)
    return f"do you mean {close[0]}? " if close else ""


def _with_npu(core: str, npu: str) -> Target:
    module = importlib.import_module(f"{__name__}.ethos_u.beside")
    name = f"{core}{PLUS}{npu}"
    made: Target = module.with_npu(find(core), name, npu)
    other = STANDING_IN.get(core)
    return replace(made, in_unicorn=lambda: module.with_npu(find(other), name, npu)) if other else made


def first_simulated() -> str:
    """The name of a simulated target whose runtime drives accelerators, for those to whom it does not matter which:
    the smallest."""
    agents = {name: find(name).agents for name in names()}
    cores = {name: one.cores for name, one in agents.items() if one.runtime_waits}
    return min(cores, key=lambda name: (cores[name], name))


# ---- boards ----


@cache
def _board_files() -> dict[str, Path]:
    found = [path for folder in __path__ for path in Path(folder).glob(f"*/boards/*{SUFFIX}")]
    return {path.stem: path for path in sorted(found, key=lambda path: path.name)}


def board_names() -> list[str]:
    return list(_board_files())


@cache
def boards() -> tuple[BoardFile, ...]:
    """Those that come with Tilewright."""
    return tuple(read_board(path) for path in _board_files().values())


def has_core(board: str) -> bool:
    """Whether there is a target for the core of a known board."""
    return any(file.name == board and file.cpu in names() for file in boards())


def is_board(name: str) -> bool:
    """Whether it is a known board, or the path of a file."""
    return name in _board_files() or name.endswith(SUFFIX)


def find_board(name: str) -> Target:
    """By the name or the file of the board, and `+` and one of its NPUs, where another is wanted than usual."""
    board, asked = _board_and_npu(name)
    if not is_board(board):
        if board in names():
            raise CompileError(f"board '{name}'", "is a target, not a board", f"--target {name}")
        hint = f"{_meant(name)}known boards: {', '.join(board_names())}; or the path of a {SUFFIX} file"
        raise CompileError(f"board '{name}'", "is unknown", hint)
    cores = [core for core in names() if find(core).agents.isa]
    file = read_board(_board_files().get(board, Path(board)), cores)
    npu = asked or file.npu
    if not npu:
        return on_board(find(file.cpu), file)
    if npu not in file.npus:
        known = f"it has {', '.join(file.npus)}" if file.npus else "use the board alone"
        raise CompileError(f"board '{board}'", f"has no NPU {npu}", known)
    module = importlib.import_module(f"{__name__}.ethos_u.beside")

    def beside(core: str) -> Target:
        placed = on_board(find(core), beside_npu(file))
        made: Target = module.with_npu(placed, name if asked else file.name, npu, file.npu_base)
        return made

    made, other = beside(file.cpu), STANDING_IN.get(file.cpu)
    return replace(made, in_unicorn=lambda: beside(other)) if other else made


def _board_and_npu(name: str) -> tuple[str, str]:
    """A file may have a + in its name."""
    board, _, npu = (name, "", "") if is_board(name) else name.partition(PLUS)
    return board, npu


def core_of(board: str) -> str:
    """The core that a board has, whatever stands in for it beside an NPU."""
    name = _board_and_npu(board)[0]
    return next((file.cpu for file in boards() if file.name == name), "") or find_board(board).platform.groups[0].name


def named_or_board(named: str, board: str) -> str:
    """What is compiled for. A board says for which core; another one may not be asked for besides."""
    if not board:
        return named or "generic"
    find_board(board)
    core = core_of(board)
    if named not in ("", core, board):
        raise CompileError(
            f"--target {named}", f"contradicts --board {board}, whose core is {core}", "leave one of them out"
        )
    return board
