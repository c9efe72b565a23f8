/* From instruction words to slots. Code is decoded a page at a time into slots, when it is first executed. */
#include "isa/insn.h"
#include "mempool/mempool.h"
#include "engine/sim.h"
#include "snitch/snitch.h"
#include <stdlib.h>

typedef struct {
    u32 mask[2], match[2];
    u8 form, kind;
} table_row;

static const table_row TABLE[] = {
#define I(name, xm, xv, cm, cv, form, kind, ...) {{xm, cm}, {xv, cv}, FORM_##form, KIND_##kind},
#include "isa/insn.def"
#undef I
};
enum { ROWS = sizeof TABLE / sizeof TABLE[0] };

#define FORM(name, use) use,
static const u8 FORM_USE[] = {FORMS};
#undef FORM
#define KIND(name, shared, late) shared,
static const u8 KIND_SHARED[] = {KINDS};
#undef KIND
#define KIND(name, shared, late) late,
static const u8 KIND_RESULT_LATE[] = {KINDS};
#undef KIND

static u16 by_opcode[2][32][ROWS + 1];  /* row numbers + 1 by bits 6:2, ended by 0 */
static int is_ready;

void decode_init(void) {
    if (is_ready) return;
    for (u32 flavour = 0; flavour < 2; flavour++) {
        u32 used[32] = {0};
        for (u32 row = 0; row < ROWS; row++) {
            if (!TABLE[row].mask[flavour]) continue;
            u32 opcode = TABLE[row].match[flavour] >> 2 & 31;
            by_opcode[flavour][opcode][used[opcode]++] = (u16)(row + 1);
        }
    }
    is_ready = 1;
}

u32 insn_kind(const insn *slot) { return slot->real < OP_FIRST ? KIND_ALU : TABLE[slot->real - OP_FIRST].kind; }

static const table_row *find_row(u32 word, u32 flavour) {
    for (const u16 *row = by_opcode[flavour][word >> 2 & 31]; *row; row++) {
        const table_row *r = &TABLE[*row - 1];
        if ((word & r->mask[flavour]) == r->match[flavour]) return r;
    }
    return NULL;
}

static u32 bits(u32 word, u32 high, u32 low) { return word >> low & (~0u >> (31 - (high - low))); }

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
    default: return 0;
    }
}

static const core_timing *timing_of(u32 flavour) { return flavour == FLAVOUR_COREV ? &TIMING_CV32E40P : &TIMING_RI5CY; }

static u32 use_of(const insn *slot) { return slot->real < OP_FIRST ? 0 : FORM_USE[TABLE[slot->real - OP_FIRST].form]; }

/* Does the consumer need what the producer writes? */
int insn_reads(const insn *consumer, const insn *producer) {
    u32 use = use_of(consumer), made = use_of(producer);
    if ((made & WRITES_X) && producer->rd != ZERO_SINK)
        return ((use & READS_1) && consumer->rs1 == producer->rd) || ((use & READS_2) && consumer->rs2 == producer->rd) ||
               ((use & READS_D) && consumer->rd == producer->rd);
    if (!(made & WRITES_F)) return 0;
    return ((use & READS_F1) && consumer->rs1 == producer->rd) || ((use & READS_F2) && consumer->rs2 == producer->rd) ||
           ((use & READS_F3) && (u32)consumer->imm == producer->rd);
}

static u32 late_by(const insn *producer, const core_timing *timing) {
    if (insn_kind(producer) == KIND_MUL) return timing->mul_use;
    if (insn_kind(producer) == KIND_MULH) return timing->mulh_use;
    return timing->load_use;
}

static u32 hazard(const insn *producer, const insn *consumer, const core_timing *timing) {
    if (producer->real < OP_FIRST || !KIND_RESULT_LATE[insn_kind(producer)]) return 0;
    if (insn_reads(consumer, producer)) return late_by(producer, timing);
    if (consumer->real < OP_FIRST || consumer->rd != producer->rd) return 0;
    if (insn_kind(producer) == KIND_FLOAD && insn_kind(consumer) == KIND_FLOAD) return timing->float_load_repeat;
    int is_lost = (insn_kind(producer) == KIND_LOAD || insn_kind(producer) == KIND_LOADPOST) && (use_of(consumer) & WRITES_X);
    return is_lost && !KIND_SHARED[insn_kind(consumer)] ? timing->load_lost : 0;
}

static void clear_slot(insn *slot, u32 pc) {
    u8 kept = (slot->flags & INSN_LOOP_END) | INSN_NEW;
    memset(slot, 0, sizeof *slot);
    *slot = (insn){.op = OP_DECODE, .entry = OP_DECODE_JUMP, .real = OP_DECODE, .start = OP_DECODE, .pc = pc, .cost = 1, .len = 2, .flags = kept};
}

static code_page *new_page(u32 base) {
    code_page *page = calloc(1, sizeof *page);
    page->base = base;
    for (u32 i = 0; i < PAGE_SLOTS; i++) clear_slot(&page->slot[i], base + 2 * i);
    for (u32 i = PAGE_SLOTS; i < PAGE_SLOTS + 2; i++)
        page->slot[i] = (insn){.op = OP_NEXT_PAGE, .entry = OP_NEXT_PAGE, .real = OP_NEXT_PAGE, .pc = base + 2 * i, .cost = 1, .len = 2};
    return page;
}

insn *code_at(sim *s, u32 group, u32 pc) {
    view *v = &s->view[group];
    code_page **page = &v->code[pc >> PAGE_BITS];
    if (UNLIKELY(!*page)) {
        *page = new_page(pc >> PAGE_BITS << PAGE_BITS);
        (*page)->next = v->pages;
        v->pages = *page;
    }
    return &(*page)->slot[(pc & ((1 << PAGE_BITS) - 1)) / 2];
}

void insn_place_branch(insn *slot) {
    u32 target = slot->pc + (u32)slot->imm;
    if (target >> PAGE_BITS == slot->pc >> PAGE_BITS) slot->imm = slot->imm / 2 * (i32)sizeof *slot;
    else slot->flags |= INSN_FAR;
}

/* Control registers whose access waits until the pipeline is empty [40P]. */
static int flushes(u32 csr) {
    int is_counter = (csr >= 0xb00 && csr < 0xba0) || (csr >= 0xc00 && csr < 0xca0) || (csr >= 0x320 && csr < 0x340);
    return is_counter || csr == 0x300 || csr == 0x305 || csr == 0x341 || csr == 0x342;
}

static u32 own_cost(const insn *slot, u32 kind, const core_timing *timing) {
    if (kind == KIND_CSR) return 1 + (flushes((u32)slot->imm) ? timing->csr_flush : 0);
    if (kind == KIND_NOP || kind == KIND_FENCEI) return 1 + timing->fence;
    if (kind == KIND_JALR && slot->rd && slot->rd == slot->rs1) return 1 + timing->jump + timing->jump_own;
    if (kind == KIND_MUL) return 1 + timing->mul;
    if (kind == KIND_MULH) return 1 + timing->mulh;
    if (kind == KIND_JAL || kind == KIND_JALR) return 1 + timing->jump;
    return 1;
}

static void fill(insn *slot, const table_row *row, u32 word, u32 flavour) {
    slot->real = (u16)(OP_FIRST + (row - TABLE));
    slot->rd = (u8)bits(word, 11, 7), slot->rs1 = (u8)bits(word, 19, 15), slot->rs2 = (u8)bits(word, 24, 20);
    slot->rm = (u8)bits(word, 14, 12);
    slot->imm = insn_immediate(word, row->form, timing_of(flavour)->loop_unit);
    slot->cost = (u8)own_cost(slot, row->kind, timing_of(flavour));
    if ((FORM_USE[row->form] & WRITES_X) && slot->rd == 0) slot->rd = ZERO_SINK;
    if (row->form == FORM_HLI) slot->rs2 = slot->rs1;
    if (KIND_SHARED[row->kind]) slot->flags |= INSN_LATE;
    if (row->kind == KIND_BRANCH || row->kind == KIND_JAL) insn_place_branch(slot);
}

/* CORE-V: a post-increment load into its own base register keeps the loaded value. */
static void drop_increment(insn *slot) {
    if (insn_kind(slot) != KIND_LOADPOST || slot->rd != slot->rs1) return;
    static const u16 PLAIN[] = {OP_lb, OP_lh, OP_lw, OP_lbu, OP_lhu};
    slot->real = PLAIN[(slot->real - OP_p_lb_pi) % 5];
    slot->imm = 0;
}

static void choose_entries(sim *s, u32 group, insn *slot) {
    int splits = timing_of(s->view[group].flavour)->split_target > 0;
    u32 at = slot->pc % FETCH_LINE_BYTES;
    int straddles = at + 4 > FETCH_LINE_BYTES; /* four bytes are fetched also for a compressed instruction [c04] */
    if (at == 0 || straddles) slot->flags |= INSN_LINE;
    if (slot->len == 4 && slot->pc % 4 && splits) slot->flags |= INSN_SPLIT;
    slot->start = probe_is_at(s, slot->pc) ? OP_PROBE : slot->real;
    slot->entry = straddles ? OP_LINE : slot->start;
    slot->op = slot->flags & INSN_LOOP_END ? OP_LOOP : slot->flags & INSN_LINE ? OP_LINE : slot->start;
}

static void add_stall(insn *slot, u32 stall) {
    if (stall <= slot->dep) return;
    slot->cost = (u8)(slot->cost - slot->dep + stall);
    slot->dep = (u8)stall;
}

static insn *decoded_at(sim *s, u32 group, u32 pc) {
    insn *slot = code_at(s, group, pc);
    if (slot->real == OP_DECODE) code_decode(s, group, slot);
    return slot;
}

/* jalr, c.jr or c.jalr? Looked at without decoding, so that decoding does not run through all code. */
static int is_register_jump(sim *s, u32 group, u32 pc) {
    const u8 *at = bus_pointer(s, group, pc, 2);
    u32 half = at ? (u32)at[0] | (u32)at[1] << 8 : 0;
    return (half & 0x707f) == 0x0067 || ((half & 0xe07f) == 0x8002 && (half & 0x0f80));
}

/* A register jump waits until its address has been written. */
static void warn_jump(sim *s, u32 group, insn *slot, const core_timing *timing) {
    int is_late = KIND_RESULT_LATE[insn_kind(slot)] && late_by(slot, timing);
    u32 after = slot->pc + slot->len;
    if (is_register_jump(s, group, after)) {
        insn *jump = decoded_at(s, group, after);
        if (insn_reads(jump, slot)) add_stall(jump, timing->jump_use + (is_late ? timing->load_use : 0));
        return;
    }
    insn *between = is_late ? decoded_at(s, group, after) : NULL;
    if (!between || between->cost > 1 || insn_kind(between) == KIND_JAL || !is_register_jump(s, group, after + between->len)) return;
    insn *jump = decoded_at(s, group, after + between->len);
    int is_overwritten = (use_of(between) & WRITES_X) && between->rd == slot->rd;
    if (insn_reads(jump, slot) && !is_overwritten) add_stall(jump, timing->jump_use);
}

/* A result that comes late stalls the instruction behind it: tell that one now. */
static void warn_next(sim *s, u32 group, insn *slot) {
    const core_timing *timing = timing_of(s->view[group].flavour);
    if (KIND_RESULT_LATE[insn_kind(slot)]) {
        insn *next = decoded_at(s, group, slot->pc + slot->len);
        add_stall(next, hazard(slot, next, timing));
    }
    if (timing->jump_use && (use_of(slot) & WRITES_X)) warn_jump(s, group, slot, timing);
}

void code_decode(sim *s, u32 group, insn *slot) {
    const view *v = &s->view[group];
    if (v->flavour == FLAVOUR_SNITCH || v->flavour == FLAVOUR_MEMPOOL) {
        (v->flavour == FLAVOUR_SNITCH ? snitch_decode : mempool_decode)(s, group, slot);
        return;
    }
    u8 *low = bus_pointer(s, group, slot->pc, 2), *high = NULL;
    slot->op = slot->entry = slot->real = slot->start = OP_UNMAPPED;
    slot->flags &= (u8)~INSN_NEW;
    if (!low) return;
    u32 word = (u32)low[0] | (u32)low[1] << 8;
    slot->len = (word & 3) == 3 ? 4 : 2;
    if (slot->len == 4) {
        if (!(high = bus_pointer(s, group, slot->pc + 2, 2))) return;
        word |= (u32)high[0] << 16 | (u32)high[1] << 24;
    } else {
        word = rvc_expand(word);
    }
    slot->op = slot->entry = slot->real = slot->start = OP_ILLEGAL;
    const table_row *row = word ? find_row(word, v->flavour) : NULL;
    if (!row || (row->kind >= KIND_FLOAD && !v->has_float)) return;
    fill(slot, row, word, v->flavour);
    if (v->flavour == FLAVOUR_COREV) drop_increment(slot);
    choose_entries(s, group, slot);
    warn_next(s, group, slot);
}

static void place(sim *s, u32 group, insn *slot) {
    if (s->view[group].flavour == FLAVOUR_SNITCH) snitch_place(s, slot);
    else if (s->view[group].flavour == FLAVOUR_MEMPOOL) mempool_place(s, slot);
    else choose_entries(s, group, slot);
}

/* The probes have changed. */
void code_place_probes(sim *s) {
    for (u32 g = 0; g < s->groups; g++)
        for (code_page *page = s->view[g].pages; page; page = page->next)
            for (u32 i = 0; i < PAGE_SLOTS; i++)
                if (page->slot[i].real >= OP_FIRST) place(s, g, &page->slot[i]);
}

/* What a stall depends on may not be executed again: keep it through code_forget(). */
void code_note_stalls(sim *s) {
    for (u32 i = 0; i < s->cores; i++) s->core[i].next_dep = s->core[i].ip ? s->core[i].ip->dep : 0;
}

static void decode_again(sim *s, core *c) {
    for (u32 loop = 0; loop < 2; loop++)
        if (c->lp_last[loop] && c->lp_last[loop]->real == OP_DECODE) code_decode(s, c->group, c->lp_last[loop]);
    if (!c->ip || c->ip->op == OP_NEXT_PAGE) return;
    code_decode(s, c->group, c->ip);
    if (!c->snitch && !c->pool) add_stall(c->ip, c->next_dep);
}

/* Forget all code but the instruction that each core is about to execute and the last ones of its loops. */
void code_forget(sim *s) {
    for (u32 g = 0; g < s->groups; g++)
        for (code_page *page = s->view[g].pages; page; page = page->next)
            for (u32 i = 0; i < PAGE_SLOTS; i++) clear_slot(&page->slot[i], page->base + 2 * i);
    for (u32 i = 0; i < s->cores; i++) decode_again(s, &s->core[i]);
}

void code_flush(sim *s) {
    code_note_stalls(s);
    code_forget(s);
}

/* The stall between the last instruction of a body and its first one. */
u32 loop_hazard(sim *s, core *c, u32 loop, insn *first) {
    if (first->real == OP_DECODE) code_decode(s, c->group, first);
    return hazard(c->lp_last[loop], first, c->timing);
}

/* The check happens in the slot behind the last instruction of the body. */
void loop_end(sim *s, core *c, u32 loop, u32 end) {
    int is_corev = s->view[c->group].flavour == FLAVOUR_COREV;
    insn *last = decoded_at(s, c->group, is_corev ? end - 4 : end);
    u32 after = is_corev ? end : end + last->len;
    c->lp_end[loop] = end;
    c->lp_after[loop] = after;
    c->lp_last[loop] = last->real >= OP_FIRST && KIND_RESULT_LATE[insn_kind(last)] ? last : NULL;
    insn *slot = code_at(s, c->group, after);
    if (slot->flags & INSN_LOOP_END) return;
    slot->flags |= INSN_LOOP_END;
    if (slot->real >= OP_FIRST) slot->op = OP_LOOP;
}
