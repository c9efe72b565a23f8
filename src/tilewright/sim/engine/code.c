/* Decoded code: pages of slots, a slot for each halfword, decoded by the kind of core that executes it first. */
#include "engine/sim.h"
#include "engine/operations.h"
#include <stdlib.h>

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

/* An instruction waits for what the one before it computes. */
void insn_add_stall(insn *slot, u32 stall) {
    if (stall <= slot->dep) return;
    slot->cost = (u8)(slot->cost - slot->dep + stall);
    slot->dep = (u8)stall;
}

void code_decode(sim *s, u32 group, insn *slot) { s->view[group].kind->decode(s, group, slot); }

/* The probes have changed. */
void code_place_probes(sim *s) {
    for (u32 g = 0; g < s->groups; g++)
        for (code_page *page = s->view[g].pages; page; page = page->next)
            for (u32 i = 0; i < PAGE_SLOTS; i++)
                if (page->slot[i].real >= OP_FIRST) s->view[g].kind->place(s, g, &page->slot[i]);
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
    if (!c->kind->keeps_order) insn_add_stall(c->ip, c->next_dep);
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
