"""What inner loops of kernels do that an instruction may stand for: macros of `kernels/patterns.h`, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.records import dataclass


@dataclass(frozen=True)
class Pattern:
    name: str
    macro: str
    """What kernels call."""
    reference: str
    """The function in C that says what it computes, of as many words."""
    operands: tuple[str, ...]
    summary: str
    semantics: str
    """As a declaration has them."""
    domain: str = "1"
    """A C expression of rd, rs1 and rs2: the operands that kernels come with."""

    @property
    def given(self) -> tuple[str, ...]:
        """The operands that it reads, as arguments in C."""
        return tuple(name.rstrip("+") for name in self.operands if name != "rd")


PATTERNS: Mapping[str, Pattern] = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            "dot4_s8", "TW_DOT4_S8", "tw_dot4_s8", ("rd+", "rs1", "rs2"),
            "rd + the sum of the products of four signed bytes",
            "rd.u32 + (uint32_t)(rs1.s8[0] * rs2.s8[0] + rs1.s8[1] * rs2.s8[1] + rs1.s8[2] * rs2.s8[2] + "
            "rs1.s8[3] * rs2.s8[3])",
        ),
        Pattern(
            "dot4_u8s8", "TW_DOT4_U8S8", "tw_dot4_u8s8", ("rd+", "rs1", "rs2"),
            "rd + the sum of the products of four unsigned bytes and four signed ones",
            "rd.u32 + (uint32_t)(rs1.u8[0] * rs2.s8[0] + rs1.u8[1] * rs2.s8[1] + rs1.u8[2] * rs2.s8[2] + "
            "rs1.u8[3] * rs2.s8[3])",
        ),
        Pattern(
            "bits2_s2", "TW_BITS2_S2", "tw_bits2_s2", ("rd+", "rs1", "rs2"),
            "rd + the sum of the products of two bits each of sixteen numbers and sixteen weights of two bits",
            "rd.u32 + popcount(rs1.u16[0] & rs2.u16[0]) - 2 * popcount(rs1.u16[0] & rs2.u16[1]) + "
            "2 * popcount(rs1.u16[1] & rs2.u16[0]) - 4 * popcount(rs1.u16[1] & rs2.u16[1])",
        ),
        Pattern(
            "max4_s8", "TW_MAX4_S8", "tw_max4_s8", ("rd", "rs1", "rs2"),
            "the larger ones of four pairs of signed bytes",
            "bytes(max(rs1.s8[0], rs2.s8[0]), max(rs1.s8[1], rs2.s8[1]), max(rs1.s8[2], rs2.s8[2]), "
            "max(rs1.s8[3], rs2.s8[3]))",
        ),
        Pattern(
            "max4_u8", "TW_MAX4_U8", "tw_max4_u8", ("rd", "rs1", "rs2"),
            "the larger ones of four pairs of unsigned bytes",
            "bytes(max(rs1.u8[0], rs2.u8[0]), max(rs1.u8[1], rs2.u8[1]), max(rs1.u8[2], rs2.u8[2]), "
            "max(rs1.u8[3], rs2.u8[3]))",
        ),
        Pattern(
            "shift_clip_s8", "TW_SHIFT_CLIP_S8", "tw_shift_clip_s8", ("rd", "rs1", "rs2"),
            "rs1 shifted to the right and clipped: rs2 has the shift in its lowest byte, least and greatest result in "
            "its upper two",
            "clip(rs1.s32 >> (rs2.u8[0] & 31), rs2.s8[2], rs2.s8[3])",
            "tw_shift_clip_s8_takes(rs2)",
        ),
        Pattern(
            "requant_s8", "TW_REQUANT_S8", "tw_requant_s8", ("rd+", "rs1", "rs2"),
            "TensorFlow Lite's requantisation of a total, clipped: rs1 is the factor, rs2 has shift, zero point, least "
            "and greatest result in its bytes",
            "clip((((((int64_t)rd.s32 * rs1.s32 + (1 << 30)) >> 31) - (((int64_t)rd.s32 * rs1.s32 + (1 << 30)) < 0) + "
            "(((int64_t)1 << (rs2.u8[0] & 31)) >> 1)) >> (rs2.u8[0] & 31)) + rs2.s8[1], rs2.s8[2], rs2.s8[3])",
            "tw_requant_s8_takes(rd, rs1, rs2)",
        ),
    )
}  # fmt: skip
