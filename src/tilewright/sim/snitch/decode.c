/* From instruction words to slots, for Snitch cores. There are no compressed instructions. */
#include "snitch/snitch.h"

typedef struct { u32 mask, match; u8 form, kind; } table_row;
static const table_row TABLE[] = {
#define RV(name, mask, match, form, kind, ...) {mask, match, FORM_##form, SNITCH_##kind},
#include "snitch/snitch.def"
#undef RV
};
enum { ROWS = sizeof TABLE / sizeof TABLE[0], RS2_FIELD = 31 << 20 };
#define FORM(name, use) use,
static const u8 FORM_USE[] = {FORMS};
#undef FORM
#define KIND(name, where) where,
static const u8 WHERE[] = {SNITCH_KINDS};
#undef KIND

u32 snitch_kind(u32 op) { return op < OP_FIRST ? SNITCH_NOP : TABLE[op - OP_FIRST].kind; }
int snitch_is_in_core(u32 op) { return WHERE[snitch_kind(op)] == IN_CORE; }

static i32 immediate(u32 w, u32 form) {
    switch (form) {
    case FORM_U: return (i32)(w & 0xfffff000);
    case FORM_J: return (i32)(bits(w, 31, 31) * ~0xfffffu | bits(w, 19, 12) << 12 | bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1);
    case FORM_IMM: case FORM_FLD: return (i32)w >> 20;
    case FORM_ST: case FORM_FST: return (i32)((u32)((i32)w >> 25) << 5 | bits(w, 11, 7));
    case FORM_U5: return (i32)bits(w, 24, 20);
    case FORM_BR: return (i32)(bits(w, 31, 31) * ~0xfffu | bits(w, 7, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1);
    case FORM_F4: return (i32)bits(w, 31, 27);
    case FORM_FFD: case FORM_FF1D: return (i32)bits(w, 11, 7);
    default: return (i32)bits(w, 31, 20);
    }
}

/* The row of a declared instruction says which registers it reads. */
static const table_row *declared_row(const declared *d) {
    static const u16 OPS[] = {SN_declared_1, SN_declared_2, SN_declared_1d, SN_declared_2d};
    return &TABLE[OPS[d->reads] - OP_FIRST];
}

static const table_row *find_row(u32 word, u32 has_float) {
    for (const table_row *row = TABLE; row < TABLE + ROWS; row++)
        if ((word & row->mask) == row->match) return has_float || (WHERE[row->kind] == IN_CORE && row->kind != SNITCH_FREP) ? row : NULL;
    return NULL;
}

static const char *const NAMES[] = {
#define RV(name, ...) #name,
#include "snitch/snitch.def"
#undef RV
};

const char *snitch_collides(const sim *s, u32 group, u32 mask, u32 match) {
    (void)s, (void)group;
    for (u32 row = 0; row < ROWS; row++)
        if (((match ^ TABLE[row].match) & TABLE[row].mask & mask) == 0) return NAMES[row];
    return NULL;
}

/* Registers of the floating-point unit that an instruction names. */
static u32 float_registers(const insn *slot) {
    u32 rd = slot->dep & WRITES_F ? slot->rd : NO_REGISTER, rs1 = slot->dep & READS_F1 ? slot->rs1 : NO_REGISTER;
    u32 rs2 = slot->dep & READS_F2 ? slot->rs2 : NO_REGISTER, rs3 = slot->dep & READS_F3 ? (u32)slot->imm & 31 : NO_REGISTER;
    return rd | rs1 << 8 | rs2 << 16 | rs3 << 24;
}

/* Where control comes in: a new line is fetched first, a probe is passed first. */
void snitch_place(sim *s, u32 group, insn *slot) {
    (void)group;
    slot->start = slot->entry = probe_is_at(s, slot->pc) ? OP_PROBE : slot->real;
    slot->op = slot->pc % SNITCH_LINE_BYTES ? slot->start : OP_LINE;
}

void snitch_decode(sim *s, u32 group, insn *slot) {
    const u8 *at = slot->pc % 4 ? NULL : bus_pointer(s, group, slot->pc, 4);
    u32 word = at ? (u32)at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24 : 0;
    const declared *own = word ? declared_of(&s->declared, word) : NULL;
    const table_row *row = own ? declared_row(own) : word ? find_row(word, s->view[group].has_float) : NULL;
    slot->len = 4;
    slot->flags &= (u8)~INSN_NEW;
    slot->op = slot->entry = slot->real = slot->start = at ? OP_ILLEGAL : OP_UNMAPPED;
    if (!row) return;
    slot->real = (u16)(OP_FIRST + (row - TABLE));
    slot->rd = (u8)bits(word, 11, 7), slot->rs1 = (u8)bits(word, 19, 15), slot->rs2 = (u8)bits(word, 24, 20);
    slot->rm = (u8)bits(word, 14, 12);
    slot->imm = immediate(word, row->form);
    slot->dep = FORM_USE[row->form];
    if (own) slot->rm = (u8)(own - s->declared.table), slot->imm = declared_immediate(own, word);
    else if (row->mask & RS2_FIELD) slot->dep &= (u8)~(READS_2 | READS_F2); /* it says what to do */
    if ((slot->dep & WRITES_X) && slot->rd == 0) slot->rd = ZERO_SINK;
    if (row->kind == SNITCH_BRANCH || row->kind == SNITCH_JAL) insn_place_branch(slot);
    slot->floats = float_registers(slot);
    snitch_place(s, group, slot);
}
