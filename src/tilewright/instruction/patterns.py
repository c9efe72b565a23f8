"""What inner loops of kernels do that an instruction may stand for: macros of `kernels/patterns.h`, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    name: str
    macro: str
    """What kernels call."""
    reference: str
    """The function in C that says what it computes, of as many words."""
    operands: tuple[str, ...]
    summary: str
    domain: str = "1"
    """A C expression of rd, rs1 and rs2: the operands that kernels come with."""


PATTERNS: Mapping[str, Pattern] = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            "dot4_s8", "TW_DOT4_S8", "tw_dot4_s8", ("rd+", "rs1", "rs2"),
            "rd + the sum of the products of four signed bytes",
        ),
        Pattern(
            "requant_s8", "TW_REQUANT_S8", "tw_requant_s8", ("rd+", "rs1", "rs2"),
            "TensorFlow Lite's requantisation of a total, clipped: rs1 is the factor, rs2 has shift, zero point, least "
            "and greatest result in its bytes", "tw_requant_s8_takes(rd, rs1, rs2)",
        ),
        Pattern("max4_s8", "TW_MAX4_S8", "tw_max4_s8", ("rd", "rs1", "rs2"), "the greater of each two signed bytes"),
        Pattern(
            "dot16_2bit", "TW_DOT16_2BIT", "tw_dot16_2bit", ("rd+", "rs1", "rs2"),
            "4 rd + sixteen weights of 2 bits, as planes of bits in rs2, times two planes of bits in rs1",
        ),
    )
}  # fmt: skip
