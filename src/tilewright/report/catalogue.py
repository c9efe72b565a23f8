"""What there is: operators and targets, as tables and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tilewright.ir.op import Op
from tilewright.ir.types import COMPUTED, SHORT, is_integer
from tilewright.report.console import plain_table, print_titled
from tilewright.report.numbers import size
from tilewright.target.board_file import BoardFile
from tilewright.target.target import Target


def print_operators(target: Console, operators: Sequence[type[Op]], on: Target) -> None:
    table = plain_table()
    for heading in ("operator", "inputs", "types", "meaning"):
        table.add_column(heading, no_wrap=heading == "operator")
    for kind in operators:
        table.add_row(kind.__name__, " ".join(kind.operands), _shown(_dtypes(kind, on)), _meaning(kind))
    print_titled(target, f"{len(operators)} operators, with their element types on {on.name}", table)


def print_others(target: Console, defined: Mapping[str, Sequence[str]], folded: Sequence[str]) -> None:
    """What a model may hold besides the operators."""
    table = plain_table()
    for heading in ("operator", "accepted as"):
        table.add_column(heading, no_wrap=heading == "operator")
    for name, parts in defined.items():
        table.add_row(name, f"ONNX's definition by {', '.join(parts)}")
    for name in folded:
        table.add_row(name, "a constant, where its operands are constants")
    target.print()
    print_titled(target, f"{len(defined) + len(folded)} more that are decomposed, or folded to constants", table)


def print_targets(target: Console, found: Sequence[Target]) -> None:
    table = plain_table()
    for heading in ("target", "engines", "kernels", "memories", "summary"):
        table.add_column(heading)
    for entry in found:
        memories = [
            f"{memory.name} ({size(memory.bytes) if memory.bytes else 'any size'})" for memory in entry.memories
        ]
        engines = ", ".join(engine.name for engine in entry.engines)
        table.add_row(entry.name, engines, str(_kernels(entry)), ", ".join(memories), entry.summary)
    target.print(table)


def print_boards(target: Console, boards: Sequence[BoardFile]) -> None:
    table = plain_table()
    for heading in ("board", "core", "MHz", "memories", "summary"):
        table.add_column(heading)
    for board in boards:
        memories = ", ".join(f"{memory.name} ({size(memory.bytes)})" for memory in board.memory)
        core = f"{board.cpu}+{board.npu}" if board.npu else board.cpu
        table.add_row(board.name, core, f"{board.clock_mhz:g}", memories, board.summary)
    target.print()
    print_titled(target, f"{len(boards)} boards, for --board; or a TOML file of your own", table)


def operator(kind: type[Op], on: Target) -> dict[str, Any]:
    return {
        "name": kind.__name__, "inputs": list(kind.operands), "outputs": list(kind.results),
        "dtypes": _dtypes(kind, on), "meaning": _meaning(kind),
    }  # fmt: skip


def target(entry: Target) -> dict[str, Any]:
    return {
        "name": entry.name, "summary": entry.summary, "engines": [engine.name for engine in entry.engines],
        "memories": [{"name": memory.name, "bytes": memory.bytes} for memory in entry.memories],
    }  # fmt: skip


def _kernels(entry: Target) -> int:
    """How many there are, also those that this machine's processor does not use."""
    engines = (engine for one in entry.for_every_processor for engine in one.engines)
    found = ((engine.name, kernel) for engine in engines for kernel in engine.kernels)
    return len({(name, one.op, one.source, one.signature, *one.dtypes.items()) for name, one in found})


def _dtypes(kind: type[Op], on: Target) -> list[str]:
    """The first operand's element types that some kernel takes; none where the operator is rewritten into others."""
    if kind.view:
        return list(SHORT)
    kernels = [kernel for engine in on.engines for kernel in engine.kernels if kernel.op is kind]
    taken = {dtype for kernel in kernels for dtype in kernel.allowed(kernel.arguments()[0]) or SHORT}
    return [dtype for dtype in SHORT if dtype in taken]


def _shown(dtypes: Sequence[str]) -> str:
    """Element types in few words."""
    integers = [dtype for dtype in SHORT if is_integer(dtype)]
    others = [SHORT[dtype] for dtype in dtypes if dtype not in integers]
    if set(integers) <= set(dtypes):
        return "all" if set(dtypes) >= COMPUTED else " ".join([*others, "integers"])
    return " ".join(SHORT[dtype] for dtype in dtypes) or "rewritten"


def _meaning(kind: type[Op]) -> str:
    """The first line of the operator's description."""
    lines = (kind.__dict__.get("__doc__") or "").strip().splitlines()
    # A dataclass without a description gets its signature as one.
    return lines[0] if lines and not lines[0].startswith(f"{kind.__name__}(") else ""
