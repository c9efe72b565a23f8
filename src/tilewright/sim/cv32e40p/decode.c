/* From instruction words to slots, for RI5CY and CV32E40P: with the stalls that an instruction causes the next ones. */
#include "cv32e40p/cv32e40p.h"

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

static void fill_tables(void) {
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

/* Of instructions that not all cores of a kind have: the bits of the extensions each of which has them. */
static const u8 NEEDS[ROWS] = {
#define B(needs, name, ...) [OP_##name - OP_FIRST] = needs,
#include "isa/rv32b.def"
#include "isa/rv32v.def"
#undef B
};

static int has_extension(const view *v, const table_row *row) {
    const u32 needed = NEEDS[row - TABLE];
    return !needed || v->extensions & needed;
}

u32 insn_kind(const insn *slot) { return slot->real < OP_FIRST ? KIND_ALU : TABLE[slot->real - OP_FIRST].kind; }

/* The row of a declared instruction says which registers it reads. */
static const table_row *declared_row(const sim *s, u32 word, u32 *index) {
    static const u16 OPS[] = {OP_declared_1, OP_declared_2, OP_declared_1d, OP_declared_2d};
    const declared *d = declared_of(&s->declared, word);
    if (!d) return NULL;
    *index = (u32)(d - s->declared.table);
    return &TABLE[OPS[d->reads] - OP_FIRST];
}

static const table_row *find_row(u32 word, u32 flavour) {
    for (const u16 *row = by_opcode[flavour][word >> 2 & 31]; *row; row++) {
        const table_row *r = &TABLE[*row - 1];
        if ((word & r->mask[flavour]) == r->match[flavour]) return r;
    }
    return NULL;
}

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

/* Control registers whose access waits until the pipeline is empty [40P]. */
static int flushes(u32 csr) {
    int is_counter = (csr >= 0xb00 && csr < 0xba0) || (csr >= 0xc00 && csr < 0xca0) || (csr >= 0x320 && csr < 0x340);
    return is_counter || csr == 0x300 || csr == 0x305 || csr == 0x341 || csr == 0x342;
}

static u32 own_cost(const insn *slot, u32 kind, const core_timing *timing) {
    if (kind == KIND_LOAD || kind == KIND_LOADPOST || kind == KIND_FLOAD) return 1 + timing->load;
    if (kind == KIND_STORE || kind == KIND_STOREPOST || kind == KIND_FSTORE) return 1 + timing->store;
    if (kind == KIND_CSR) return 1 + (flushes((u32)slot->imm) ? timing->csr_flush : 0);
    if (kind == KIND_NOP || kind == KIND_FENCEI) return 1 + timing->fence;
    if (kind == KIND_JALR && slot->rd && slot->rd == slot->rs1) return 1 + timing->jump + timing->jump_own;
    if (kind == KIND_MUL) return 1 + timing->mul;
    if (kind == KIND_MULH) return 1 + timing->mulh;
    if (kind == KIND_JAL || kind == KIND_JALR) return 1 + timing->jump;
    return 1;
}

static void fill(insn *slot, const table_row *row, u32 word, const core_timing *timing) {
    slot->real = (u16)(OP_FIRST + (row - TABLE));
    slot->rd = (u8)bits(word, 11, 7), slot->rs1 = (u8)bits(word, 19, 15), slot->rs2 = (u8)bits(word, 24, 20);
    slot->rm = (u8)bits(word, 14, 12);
    slot->imm = insn_immediate(word, row->form, timing->loop_unit);
    slot->cost = (u8)own_cost(slot, row->kind, timing);
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
    int splits = s->view[group].timing->split_target > 0;
    u32 at = slot->pc % FETCH_LINE_BYTES;
    int straddles = at + 4 > FETCH_LINE_BYTES; /* four bytes are fetched also for a compressed instruction [c04] */
    if (at == 0 || straddles) slot->flags |= INSN_LINE;
    if (slot->len == 4 && slot->pc % 4 && splits) slot->flags |= INSN_SPLIT;
    slot->start = probe_is_at(s, slot->pc) ? OP_PROBE : slot->real;
    slot->entry = straddles ? OP_LINE : slot->start;
    slot->op = slot->flags & INSN_LOOP_END ? OP_LOOP : slot->flags & INSN_LINE ? OP_LINE : slot->start;
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
        if (insn_reads(jump, slot)) insn_add_stall(jump, timing->jump_use + (is_late ? timing->load_use : 0));
        return;
    }
    insn *between = is_late ? decoded_at(s, group, after) : NULL;
    if (!between || between->cost > 1 || insn_kind(between) == KIND_JAL || !is_register_jump(s, group, after + between->len)) return;
    insn *jump = decoded_at(s, group, after + between->len);
    int is_overwritten = (use_of(between) & WRITES_X) && between->rd == slot->rd;
    if (insn_reads(jump, slot) && !is_overwritten) insn_add_stall(jump, timing->jump_use);
}

/* A result that comes late stalls the instruction behind it: tell that one now. */
static void warn_next(sim *s, u32 group, insn *slot) {
    const core_timing *timing = s->view[group].timing;
    if (KIND_RESULT_LATE[insn_kind(slot)]) {
        insn *next = decoded_at(s, group, slot->pc + slot->len);
        insn_add_stall(next, hazard(slot, next, timing));
    }
    if (timing->jump_use && (use_of(slot) & WRITES_X)) warn_jump(s, group, slot, timing);
}

static void decode(sim *s, u32 group, insn *slot) {
    const view *v = &s->view[group];
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
        const u32 half = word;
        word = rvc_expand(half);
        if (!word && v->extensions >> EXTENSION_zcb & 1) word = rvc_expand_zcb(half);
    }
    slot->op = slot->entry = slot->real = slot->start = OP_ILLEGAL;
    u32 index = 0;
    const table_row *own = slot->len == 4 ? declared_row(s, word, &index) : NULL, *row = own ? own : word ? find_row(word, v->flavour) : NULL;
    if (!row || (row->kind >= KIND_FLOAD && !v->has_float) || !has_extension(v, row)) return;
    fill(slot, row, word, v->timing);
    if (own) slot->rm = (u8)index, slot->imm = declared_immediate(&s->declared.table[index], word);
    if (v->flavour == FLAVOUR_COREV) drop_increment(slot);
    choose_entries(s, group, slot);
    warn_next(s, group, slot);
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

static size_t vector_bytes(const platform_group *g) {
    return g->extensions & ZVE32X ? sizeof(vector_unit) * g->cores : 0;
}

static void build_vectors(sim *s, core *c, u32 index) {
    (void)index;
    if (!(s->view[c->group].extensions & ZVE32X)) return;
    vector_unit *const u = c->own = sim_allocate(s, sizeof *u);
    u->vtype = VECTOR_ILLEGAL_TYPE;
    const u32 local = s->description.group[c->group].local_memory;
    u->memory = local < s->memories ? local : 0;
}

static core_extras of_vectors(const core *c) {
    const vector_unit *const u = c->own;
    return u ? (core_extras){.streamed = u->local_bytes / 4, .memory = u->memory, .element_bytes = 4} : (core_extras){0};
}

static const char *const NAMES[] = {
#define I(name, ...) #name,
#include "isa/insn.def"
#undef I
};

static const char *collides(const sim *s, u32 group, u32 mask, u32 match) {
    const u32 flavour = s->view[group].flavour;
    for (u32 row = 0; row < ROWS; row++) {
        const u32 both = TABLE[row].mask[flavour] & mask;
        if (TABLE[row].mask[flavour] && (TABLE[row].match[flavour] & both) == (match & both)) return NAMES[row];
    }
    return NULL;
}

static void build_group(sim *s, u32 group) {
    (void)s, (void)group;
    fill_tables();
}

const core_kind RI5CY_CORE = {.timing = &TIMING_RI5CY, .run = core_run, .decode = decode, .place = choose_entries, .build_group = build_group, .collides = collides};
const core_kind CV32E40P_CORE = {.timing = &TIMING_CV32E40P, .run = core_run, .decode = decode, .place = choose_entries, .build_group = build_group,
                                 .bytes = vector_bytes, .build_core = build_vectors, .extras = of_vectors, .collides = collides};
