"""Instructions of the extensions Zb* and Zcb, which capstone does not know: what each reads, writes and computes."""

from __future__ import annotations

from tilewright.instruction.search.decoded import Decoded, Kind

OP, OP_IMMEDIATE = 0x33, 0x13
"""Opcodes in which every instruction writes rd from rs1, and in the first from rs2 too, whatever they compute."""
SHORT_LOADS, SHORT_STORES = {0: ("lbu", "lbu"), 1: ("lhu", "lh")}, {2: "sb", 3: "sh"}
"""By bits 12 to 10; of loads by bit 6 then."""
OF_ONE = {0: ("and", 255), 5: ("xor", -1)}
"""zext.b and not, by bits 4 to 2: the operation with a constant."""
EXTENSIONS_OF_SIGNS = {1: "sext.b", 2: "zext.h", 3: "sext.h"}


def of_extensions(code: bytes, address: int) -> Decoded:
    """OTHER where it is none of these."""
    word = int.from_bytes(code, "little")
    found = _long(word, address) if len(code) == 4 else _short(word, address)
    return found or Decoded(address, len(code), "", Kind.OTHER)


def _long(word: int, address: int) -> Decoded | None:
    rd, rs1, rs2 = (word >> low & 31 for low in (7, 15, 20))
    if word & 0x7F == OP:
        return Decoded(address, 4, "zb", Kind.OPAQUE, rd, (rs1, rs2))
    return Decoded(address, 4, "zb", Kind.OPAQUE, rd, (rs1,)) if word & 0x7F == OP_IMMEDIATE else None


def _short(word: int, address: int) -> Decoded | None:
    """Registers have three bits: s0 to a5."""
    quadrant, kind, first, second = word & 3, word >> 10 & 7, (word >> 7 & 7) + 8, (word >> 2 & 7) + 8
    if word >> 13 != 4:
        return None
    if quadrant == 0 and kind in SHORT_LOADS:
        return Decoded(address, 2, SHORT_LOADS[kind][word >> 6 & 1], Kind.LOADS, second, (first,))
    if quadrant == 0 and kind in SHORT_STORES:
        return Decoded(address, 2, SHORT_STORES[kind], Kind.STORES, 0, (second, first))
    return _short_computation(address, word, first, second) if quadrant == 1 and kind == 7 else None


def _short_computation(address: int, word: int, first: int, second: int) -> Decoded | None:
    group, which = word >> 5 & 3, word >> 2 & 7
    if group == 2:
        return Decoded(address, 2, "mul", Kind.COMPUTES, first, (first, second))
    if group == 3 and which in OF_ONE:
        name, constant = OF_ONE[which]
        return Decoded(address, 2, name, Kind.COMPUTES, first, (first,), constant)
    if group == 3 and which in EXTENSIONS_OF_SIGNS:
        return Decoded(address, 2, EXTENSIONS_OF_SIGNS[which], Kind.OPAQUE, first, (first,))
    return None
