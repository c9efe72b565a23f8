/* Immediates of instruction words, by form. */
#include "isa/insn.h"

static i32 branch_offset(u32 w) {
    return (i32)(bits(w, 31, 31) * ~0xfffu | bits(w, 7, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1);
}

static i32 jump_offset(u32 w) {
    return (i32)(bits(w, 31, 31) * ~0xfffffu | bits(w, 19, 12) << 12 | bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1);
}

/* The immediate of the packed forms: bit 25 is its lowest bit. */
static u32 packed(u32 w) { return bits(w, 24, 20) << 1 | bits(w, 25, 25); }
static u32 packed_signed(u32 w) { return (u32)((i32)(packed(w) << 26) >> 26); }

i32 insn_immediate(u32 w, u32 form, u32 loop_unit) {
    switch (form) {
    case FORM_U: return (i32)(w & 0xfffff000);
    case FORM_J: return jump_offset(w);
    case FORM_IMM: case FORM_POST: case FORM_FLD: return (i32)w >> 20;
    case FORM_ST: case FORM_FST: return (i32)((u32)((i32)w >> 25) << 5 | bits(w, 11, 7));
    case FORM_U5: return (i32)bits(w, 24, 20);
    case FORM_BR: case FORM_BRI: return branch_offset(w);
    case FORM_CSR: case FORM_CSRI: return (i32)bits(w, 31, 20);
    case FORM_HL: return (i32)(bits(w, 31, 20) * loop_unit);
    case FORM_HLC: case FORM_HLI: return (i32)bits(w, 31, 20);
    case FORM_BI: case FORM_BID: return (i32)bits(w, 29, 20);
    case FORM_RN: case FORM_RND: return (i32)bits(w, 29, 25);
    case FORM_VSH: case FORM_VSHD: return (i32)((packed_signed(w) & 0xffff) * 0x10001);
    case FORM_VSB: case FORM_VSBD: return (i32)((packed_signed(w) & 0xff) * 0x1010101);
    case FORM_VUH: case FORM_VUHD: return (i32)(packed(w) * 0x10001);
    case FORM_VUB: case FORM_VUBD: return (i32)(packed(w) * 0x1010101);
    case FORM_VI: case FORM_VID: return (i32)packed(w);
    case FORM_F4: return (i32)bits(w, 31, 27);
    case FORM_VV: case FORM_VS: case FORM_VS2: case FORM_VX: case FORM_VSET: case FORM_VSETI: case FORM_VSETR: return (i32)w;
    default: return 0;
    }
}
