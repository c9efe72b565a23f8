/* Compressed instructions, rewritten as the 32-bit instruction that they stand for (0: illegal). */
#include "isa/insn.h"

static u32 sign(u32 value, u32 width) { return (u32)((i32)(value << (32 - width)) >> (32 - width)); }
static u32 low_register(u32 h, u32 at) { return 8 + bits(h, at + 2, at); }

static u32 i_type(u32 imm, u32 rs1, u32 f3, u32 rd, u32 opcode) { return imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode; }
static u32 r_type(u32 f7, u32 rs2, u32 rs1, u32 f3, u32 rd) { return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x33; }
static u32 s_type(u32 imm, u32 rs2, u32 rs1, u32 f3, u32 opcode) {
    return bits(imm, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | bits(imm, 4, 0) << 7 | opcode;
}
static u32 b_type(u32 imm, u32 rs1, u32 f3) {
    return bits(imm, 12, 12) << 31 | bits(imm, 10, 5) << 25 | rs1 << 15 | f3 << 12 | bits(imm, 4, 1) << 8 | bits(imm, 11, 11) << 7 | 0x63;
}
static u32 j_type(u32 imm, u32 rd) {
    return bits(imm, 20, 20) << 31 | bits(imm, 10, 1) << 21 | bits(imm, 11, 11) << 20 | bits(imm, 19, 12) << 12 | rd << 7 | 0x6f;
}

static u32 word_offset(u32 h) { return bits(h, 5, 5) << 6 | bits(h, 12, 10) << 3 | bits(h, 6, 6) << 2; }
static u32 imm6(u32 h) { return sign(bits(h, 12, 12) << 5 | bits(h, 6, 2), 6); }
static u32 load_sp_offset(u32 h) { return bits(h, 3, 2) << 6 | bits(h, 12, 12) << 5 | bits(h, 6, 4) << 2; }
static u32 store_sp_offset(u32 h) { return bits(h, 8, 7) << 6 | bits(h, 12, 9) << 2; }

static u32 jump_offset(u32 h) {
    return sign(bits(h, 12, 12) << 11 | bits(h, 8, 8) << 10 | bits(h, 10, 9) << 8 | bits(h, 6, 6) << 7 | bits(h, 7, 7) << 6 |
                    bits(h, 2, 2) << 5 | bits(h, 11, 11) << 4 | bits(h, 5, 3) << 1, 12);
}
static u32 branch_offset(u32 h) {
    return sign(bits(h, 12, 12) << 8 | bits(h, 6, 5) << 6 | bits(h, 2, 2) << 5 | bits(h, 11, 10) << 3 | bits(h, 4, 3) << 1, 9);
}

static u32 quadrant0(u32 h) {
    u32 rd = low_register(h, 2), rs1 = low_register(h, 7);
    u32 frame = bits(h, 10, 7) << 6 | bits(h, 12, 11) << 4 | bits(h, 5, 5) << 3 | bits(h, 6, 6) << 2;
    switch (bits(h, 15, 13)) {
    case 0: return frame ? i_type(frame, 2, 0, rd, 0x13) : 0;
    case 2: return i_type(word_offset(h), rs1, 2, rd, 0x03);
    case 3: return i_type(word_offset(h), rs1, 2, rd, 0x07);
    case 6: return s_type(word_offset(h), rd, rs1, 2, 0x23);
    case 7: return s_type(word_offset(h), rd, rs1, 2, 0x27);
    default: return 0;
    }
}

static u32 arithmetic(u32 h) {
    u32 rd = low_register(h, 7), rs2 = low_register(h, 2), shift = bits(h, 6, 2);
    static const u8 F3[] = {0, 4, 6, 7};
    switch (bits(h, 11, 10)) {
    case 0: return bits(h, 12, 12) ? 0 : i_type(shift, rd, 5, rd, 0x13);
    case 1: return bits(h, 12, 12) ? 0 : i_type(0x400 | shift, rd, 5, rd, 0x13);
    case 2: return i_type(imm6(h), rd, 7, rd, 0x13);
    default: return bits(h, 12, 12) ? 0 : r_type(bits(h, 6, 5) ? 0 : 0x20, rs2, rd, F3[bits(h, 6, 5)], rd);
    }
}

static u32 quadrant1(u32 h) {
    u32 rd = bits(h, 11, 7), low = low_register(h, 7);
    u32 frame = sign(bits(h, 12, 12) << 9 | bits(h, 4, 3) << 7 | bits(h, 5, 5) << 6 | bits(h, 2, 2) << 5 | bits(h, 6, 6) << 4, 10);
    switch (bits(h, 15, 13)) {
    case 0: return i_type(imm6(h), rd, 0, rd, 0x13);
    case 1: return j_type(jump_offset(h), 1);
    case 2: return i_type(imm6(h), 0, 0, rd, 0x13);
    case 3:
        if (rd == 2) return frame ? i_type(frame, 2, 0, 2, 0x13) : 0;
        return imm6(h) ? imm6(h) << 12 | rd << 7 | 0x37 : 0;
    case 4: return arithmetic(h);
    case 5: return j_type(jump_offset(h), 0);
    case 6: return b_type(branch_offset(h), low, 0);
    default: return b_type(branch_offset(h), low, 1);
    }
}

static u32 jump_or_move(u32 h) {
    u32 rd = bits(h, 11, 7), rs2 = bits(h, 6, 2);
    if (!bits(h, 12, 12)) {
        if (rs2) return r_type(0, rs2, 0, 0, rd);
        return rd ? i_type(0, rd, 0, 0, 0x67) : 0;
    }
    if (rs2) return r_type(0, rs2, rd, 0, rd);
    return rd ? i_type(0, rd, 0, 1, 0x67) : 0x00100073;
}

static u32 quadrant2(u32 h) {
    u32 rd = bits(h, 11, 7), rs2 = bits(h, 6, 2);
    switch (bits(h, 15, 13)) {
    case 0: return bits(h, 12, 12) ? 0 : i_type(rs2, rd, 1, rd, 0x13);
    case 2: return rd ? i_type(load_sp_offset(h), 2, 2, rd, 0x03) : 0;
    case 3: return i_type(load_sp_offset(h), 2, 2, rd, 0x07);
    case 4: return jump_or_move(h);
    case 6: return s_type(store_sp_offset(h), rs2, 2, 2, 0x23);
    case 7: return s_type(store_sp_offset(h), rs2, 2, 2, 0x27);
    default: return 0;
    }
}

u32 rvc_expand(u32 half) {
    switch (half & 3) {
    case 0: return quadrant0(half);
    case 1: return quadrant1(half);
    default: return quadrant2(half);
    }
}

/* Zcb: bytes and halves of memory, extensions of registers, a product. */
static u32 zcb_memory(u32 h) {
    u32 data = low_register(h, 2), base = low_register(h, 7), at = bits(h, 5, 5) << 1, is_second = bits(h, 6, 6);
    switch (bits(h, 12, 10)) {
    case 0: return i_type(at | is_second, base, 4, data, 0x03);
    case 1: return i_type(at, base, is_second ? 1 : 5, data, 0x03);
    case 2: return s_type(at | is_second, data, base, 0, 0x23);
    case 3: return is_second ? 0 : s_type(at, data, base, 1, 0x23);
    default: return 0;
    }
}

static u32 zcb_register(u32 h) {
    u32 rd = low_register(h, 7);
    if (bits(h, 6, 5) == 2) return r_type(1, low_register(h, 2), rd, 0, rd);
    if (bits(h, 6, 5) != 3) return 0;
    switch (bits(h, 4, 2)) {
    case 0: return i_type(0xff, rd, 7, rd, 0x13);
    case 1: return i_type(0x604, rd, 1, rd, 0x13);
    case 2: return r_type(4, 0, rd, 4, rd);
    case 3: return i_type(0x605, rd, 1, rd, 0x13);
    case 5: return i_type(0xfff, rd, 4, rd, 0x13);
    default: return 0;
    }
}

u32 rvc_expand_zcb(u32 half) {
    if ((half & 0xe003) == 0x8000) return zcb_memory(half);
    return (half & 0xfc03) == 0x9c01 ? zcb_register(half) : 0;
}
