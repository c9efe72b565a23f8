"""A command stream as its operations, each with the registers that it takes: what can be known of it without data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import prod
from typing import Any

from tilewright.records import dataclass
from tilewright.sim.library import ETHOS_U

CODE, IS_LONG = 0x3FF, 0x4000
LINE = re.compile(r"^(OPERATION|PARAMETER|PAYLOAD)\((\w+), (0x\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """An operation, a transfer or a wait."""

    name: str
    parameter: int
    registers: Mapping[str, int]
    """By name, as they are now; those of addresses and lengths too."""

    def get(self, name: str) -> int:
        """0 where nobody has set it."""
        return self.registers.get(name, 0)

    def size(self, name: str) -> int:
        """Of a register that has one less."""
        return self.get(f"{name}_M1") + 1


def commands(words: Any) -> Iterator[Command]:
    """Up to STOP. Commands that are unknown are left to the machine that executes the stream. The registers are the
    same object each time: look at them before the next command is taken."""
    names, registers = _names(), dict[str, int]()
    rest = iter(int(word) for word in words)
    for word in rest:
        code, parameter = word & CODE, word >> 16
        if word & IS_LONG:
            registers[names.get(("PAYLOAD", code), "")] = next(rest, 0) | (parameter << 32)
        elif ("OPERATION", code) in names:
            name = names["OPERATION", code]
            yield Command(name, parameter, registers)
            if name == "STOP":
                return
        else:
            registers[names.get(("PARAMETER", code), "")] = parameter


def products_of(words: Any) -> int:
    """Of the layers in a stream, whatever padding spares."""
    return sum(_products(one) for one in commands(words) if one.name in ("CONV", "DEPTHWISE"))


def _products(one: Command) -> int:
    sizes = [*(f"OFM_{axis}" for axis in ("HEIGHT", "WIDTH", "DEPTH")), "KERNEL_HEIGHT", "KERNEL_WIDTH"]
    return prod(map(one.size, [*sizes, "IFM_DEPTH"] if one.name == "CONV" else sizes))


def code_of(payload: str) -> int:
    """The number of a command that sets a register of 32 bits."""
    (code,) = [code for (kind, code), name in _names().items() if (kind, name) == ("PAYLOAD", payload)]
    return code


def is_operation(word: int) -> bool:
    """Whether a command does something; others set a register."""
    return not word & IS_LONG and ("OPERATION", word & CODE) in _names()


@cache
def registers_of() -> Mapping[int, str]:
    """Names of registers by the bits of a command that say which it sets."""
    kinds = {"PARAMETER": 0, "PAYLOAD": IS_LONG}
    return {code | kinds[kind]: name for (kind, code), name in _names().items() if kind in kinds}


@cache
def _names() -> Mapping[tuple[str, int], str]:
    text = (ETHOS_U / "commands.def").read_text(encoding="utf-8")
    return {(kind, int(code, 16)): name for kind, name, code in LINE.findall(text)}
