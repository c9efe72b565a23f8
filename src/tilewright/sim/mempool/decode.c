/* From instruction words to slots, for MemPool's cores. There are no compressed instructions. */
#include "mempool/mempool.h"

typedef struct { u32 mask, match; u8 form, kind; } table_row;
static const table_row TABLE[] = {
#define RV(name, mask, match, form, kind, ...) {mask, match, FORM_##form, KIND_##kind},
#include "mempool/mempool.def"
#undef RV
};
enum { ROWS = sizeof TABLE / sizeof TABLE[0] };
#define FORM(name, use) use,
static const u8 FORM_USE[] = {FORMS};
#undef FORM

static const table_row *find_row(u32 word) {
    for (const table_row *row = TABLE; row < TABLE + ROWS; row++)
        if ((word & row->mask) == row->match) return row;
    return NULL;
}

/* Where control comes in: a new line is fetched first, a probe is passed first. */
void mempool_place(sim *s, u32 group, insn *slot) {
    (void)group;
    slot->start = slot->entry = probe_is_at(s, slot->pc) ? OP_PROBE : slot->real;
    slot->op = slot->pc % MEMPOOL_LINE_BYTES ? slot->start : OP_LINE;
}

/* The zero register does not move on. */
static void keep_zero(insn *slot, u32 kind) {
    if (slot->rs1 || (kind != KIND_LOADPOST && kind != KIND_STOREPOST)) return;
    slot->imm = 0;
    if (kind == KIND_LOADPOST) slot->rs2 = 0;
    else slot->rd = slot->dep = 0;
}

void mempool_decode(sim *s, u32 group, insn *slot) {
    const u8 *at = slot->pc % 4 ? NULL : bus_pointer(s, group, slot->pc, 4);
    u32 word = at ? (u32)at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24 : 0;
    const table_row *row = word ? find_row(word) : NULL;
    slot->len = 4;
    slot->flags &= (u8)~INSN_NEW;
    slot->op = slot->entry = slot->real = slot->start = at ? OP_ILLEGAL : OP_UNMAPPED;
    if (!row) return;
    slot->real = (u16)(OP_FIRST + (row - TABLE));
    slot->rd = (u8)bits(word, 11, 7), slot->rs1 = (u8)bits(word, 19, 15), slot->rs2 = (u8)bits(word, 24, 20);
    slot->dep = slot->rd; /* what is waited for; nobody waits for the zero register */
    slot->imm = insn_immediate(word, row->form, 0);
    if ((FORM_USE[row->form] & WRITES_X) && slot->rd == 0) slot->rd = ZERO_SINK;
    keep_zero(slot, row->kind);
    if ((row->kind == KIND_BRANCH || row->kind == KIND_JAL) && slot->imm < 0) line_start(slot)->flags |= INSN_TURNS;
    if (row->kind == KIND_BRANCH || row->kind == KIND_JAL) insn_place_branch(slot);
    mempool_place(s, group, slot);
}
