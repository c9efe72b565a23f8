"""Zba, Zbb, Zbs, Zbkb and Zcb: every instruction against Python's integers, refused where a core lacks it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tilewright.errors import CompileError
from tilewright.sim.platform import EXTENSIONS
from tilewright.sim.platforms.cv32e40p import CV32E40P
from tilewright.sim.simulator import Simulator

MASK, DATA = 0xFFFFFFFF, BASE + 0x8000
LONG = ".option push\n.option norvc\n"
FEATURES = "+m+c+" + "+".join(EXTENSIONS)
RNG = random.Random(3)
VALUES = [0, 1, 0x80, 0x8000, 0x7FFFFFFF, 0x80000000, MASK, 0x00FF0080, *(RNG.getrandbits(32) for _ in range(5))]
PAIRS = [(a, RNG.choice(VALUES)) for a in VALUES] + [(a, a) for a in VALUES[:3]] + [(a, 31) for a in VALUES[4:7]]
Meaning = Callable[[int, int], int]


def signed(a: int, bits: int = 32) -> int:
    return (a & (1 << bits) - 1) - ((a >> bits - 1 & 1) << bits)


def bits_of(a: int) -> str:
    return f"{a:032b}"


def turned(a: int, by: int) -> int:
    """Rotated to the right."""
    return int((bits_of(a) * 2)[32 - by % 32 : 64 - by % 32], 2)


def by_bytes(a: int, change: Callable[[int], int]) -> int:
    return int.from_bytes(bytes(change(one) for one in a.to_bytes(4, "little")), "little")


def zipped(a: int) -> int:
    text = bits_of(a)
    return int("".join(high + low for high, low in zip(text[:16], text[16:], strict=True)), 2)


TWO: dict[str, tuple[str, Meaning]] = {
    "sh1add": ("zba", lambda a, b: 2 * a + b),
    "sh2add": ("zba", lambda a, b: 4 * a + b),
    "sh3add": ("zba", lambda a, b: 8 * a + b),
    "andn": ("zbb", lambda a, b: a & ~b),
    "orn": ("zbb", lambda a, b: a | ~b),
    "xnor": ("zbb", lambda a, b: ~(a ^ b)),
    "rol": ("zbb", lambda a, b: turned(a, -b)),
    "ror": ("zbb", turned),
    "max": ("zbb", lambda a, b: max(signed(a), signed(b))),
    "maxu": ("zbb", max),
    "min": ("zbb", lambda a, b: min(signed(a), signed(b))),
    "minu": ("zbb", min),
    "bclr": ("zbs", lambda a, b: a & ~(1 << b % 32)),
    "bext": ("zbs", lambda a, b: a >> b % 32 & 1),
    "binv": ("zbs", lambda a, b: a ^ 1 << b % 32),
    "bset": ("zbs", lambda a, b: a | 1 << b % 32),
    "pack": ("zbkb", lambda a, b: a & 0xFFFF | b << 16),
    "packh": ("zbkb", lambda a, b: a & 0xFF | (b & 0xFF) << 8),
}
ONE: dict[str, tuple[str, Meaning]] = {
    "clz": ("zbb", lambda a, _: 32 - a.bit_length()),
    "ctz": ("zbb", lambda a, _: (a & -a).bit_length() - 1 if a else 32),
    "cpop": ("zbb", lambda a, _: a.bit_count()),
    "sext.b": ("zbb", lambda a, _: signed(a, 8)),
    "sext.h": ("zbb", lambda a, _: signed(a, 16)),
    "zext.h": ("zbb", lambda a, _: a & 0xFFFF),
    "orc.b": ("zbb", lambda a, _: by_bytes(a, lambda one: 255 if one else 0)),
    "rev8": ("zbb", lambda a, _: int.from_bytes(a.to_bytes(4, "little"), "big")),
    "brev8": ("zbkb", lambda a, _: by_bytes(a, lambda one: int(f"{one:08b}"[::-1], 2))),
    "zip": ("zbkb", lambda a, _: zipped(a)),
    "unzip": ("zbkb", lambda a, _: int(bits_of(a)[0::2] + bits_of(a)[1::2], 2)),
}
SHIFTED = {"rori": "ror", "bclri": "bclr", "bexti": "bext", "binvi": "binv", "bseti": "bset"}
AMOUNTS = (0, 1, 17, 31)
COMPRESSED: dict[str, Meaning] = {
    "c.zext.b a0": lambda a, _: a & 0xFF,
    "c.sext.b a0": lambda a, _: signed(a, 8),
    "c.zext.h a0": lambda a, _: a & 0xFFFF,
    "c.sext.h a0": lambda a, _: signed(a, 16),
    "c.not a0": lambda a, _: ~a,
    "c.mul a0, a1": lambda a, b: a * b,
}
LOADS = {"c.lbu a0, {}(a2)": (range(4), "<B"), "c.lhu a0, {}(a2)": ((0, 2), "<H"), "c.lh a0, {}(a2)": ((0, 2), "<h")}
STORES = {"c.sb a0, {}(a2)": (range(4), "<B"), "c.sh a0, {}(a2)": ((0, 2), "<H")}


def core(*extensions: str) -> Simulator:
    (group,) = CV32E40P.groups
    return Simulator(replace(CV32E40P, groups=(replace(group, extensions=frozenset(extensions)),)))


def instructions() -> list[tuple[str, Meaning]]:
    """Each into a0 from a0 and a1."""
    found = [(f"{name} a0, a0, a1", meaning) for name, (_, meaning) in TWO.items()]
    found += [(f"{name} a0, a0", meaning) for name, (_, meaning) in ONE.items()]
    for name, plain in SHIFTED.items():
        for amount in AMOUNTS:
            found.append((f"{name} a0, a0, {amount}", lambda a, _, m=TWO[plain][1], n=amount: m(a, n)))
    return found + list(COMPRESSED.items())


def test_every_instruction_computes_what_it_is_said_to() -> None:
    listed = instructions()
    lines = [text if text.startswith("c.") else f"{LONG}{text}\n.option pop" for text, _ in listed]
    with core(*EXTENSIONS) as simulator:
        simulator.load(elf_of(assemble("\n".join(lines), FEATURES) + FOREVER))
        at = BASE
        for text, meaning in listed:
            size = 2 if text.startswith("c.") else 4
            for a, b in PAIRS:
                for name, value in {"a0": a, "a1": b, "pc": at}.items():
                    simulator.set_register(0, name, value)
                assert simulator.run_until(at + size, cycle=simulator.cycle + 100)
                assert simulator.register(0, "a0") == meaning(a, b) & MASK, (text, hex(a), hex(b))
            at += size


def test_compressed_loads_and_stores_reach_their_bytes() -> None:
    for texts, is_load in ((LOADS, True), (STORES, False)):
        for text, (offsets, form) in texts.items():
            for offset in offsets:
                with core("zcb") as simulator:
                    code = assemble(text.format(offset), FEATURES)
                    simulator.load(elf_of(code + FOREVER))
                    simulator.write(DATA, bytes([0x81, 0x92, 0xA3, 0xF4]))
                    for name, value in {"a0": 0x5566F788, "a2": DATA}.items():
                        simulator.set_register(0, name, value)
                    assert simulator.run_until(BASE + 2)
                    (there,) = struct.unpack(form, simulator.read(DATA + offset, struct.calcsize(form)))
                    kept = 0x5566F788 & (1 << 8 * struct.calcsize(form)) - 1
                    assert (simulator.register(0, "a0") if is_load else there) == (there & MASK if is_load else kept)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        *((f"{name} a0, a0, a1", {TWO[name][0]}) for name in ("sh1add", "max", "bset", "pack")),
        ("rol a0, a0, a1", {"zbb", "zbkb"}),
        ("zext.h a0, a0", {"zbb", "zbkb"}),
        ("c.zext.b a0", {"zcb"}),
    ],
)
def test_an_instruction_that_a_core_lacks_is_illegal(text: str, needed: set[str]) -> None:
    is_short = text.startswith("c.")
    code = elf_of(assemble(text if is_short else LONG + text, FEATURES) + FOREVER)
    for extension in EXTENSIONS:
        with core(extension) as simulator:
            simulator.load(code)
            if extension in needed:
                assert simulator.run_until(BASE + (2 if is_short else 4))
                continue
            with pytest.raises(CompileError, match="illegal"):
                simulator.run(100)
