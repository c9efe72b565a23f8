/* What cores, caches, memories and engines have done until now, as counts that energy is computed from. */
#include "engine/sim.h"

/* Instructions by class; what is counted nowhere is simple arithmetic or control. */
static void add_instructions(const core *c, u64 repeated, u64 *instruction) {
    u64 of[CLASSES] = {
        [CLASS_MUL] = c->counted[COUNT_MUL], [CLASS_MULH] = c->counted[COUNT_MULH], [CLASS_MAC] = c->counted[COUNT_MAC],
        [CLASS_DOT] = c->counted[COUNT_DOT], [CLASS_DIV] = c->counted[COUNT_DIV], [CLASS_LOAD] = c->counted[COUNT_FAR_LOADS],
        [CLASS_STORE] = c->counted[COUNT_FAR_STORES], [CLASS_BRANCH] = c->counted[COUNT_BRANCHES], [CLASS_JUMP] = c->counted[COUNT_JUMPS],
        [CLASS_FLOAT] = c->counted[COUNT_FLOAT], [CLASS_FLOAT_DIV] = c->counted[COUNT_FLOAT_DIV],
    };
    for (u32 i = 0; i < ACCESS_SIZES; i++) of[CLASS_LOAD] += c->local_loads[i], of[CLASS_STORE] += c->local_stores[i];
    of[CLASS_ALU] = c->instructions + repeated;
    for (u32 i = 0; i < CLASSES; i++) {
        if (i != CLASS_ALU) of[CLASS_ALU] -= of[i];
    }
    for (u32 i = 0; i < CLASSES; i++) instruction[i] += of[i];
}

/* Every cycle of a core that is switched on is an instruction, a stall or sleep. */
static void add_cycles(const core *c, u64 now, activity *a) {
    u64 asleep, end = core_end(c, now, &asleep), slept = c->stall[STALL_SLEEP] + asleep, spent = c->instructions + slept;
    a->asleep += slept;
    if (!c->instructions || end - c->started <= spent) return;
    a->stalled += end - c->started - spent;
    u64 stall[STALL_CAUSES];
    core_stalls(c, end - asleep + c->late, c->instructions, stall);
    stall[STALL_FETCH] -= c->late; /* not paid yet */
    for (u32 i = 0; i < STALL_CAUSES; i++) a->stall[i] += i == STALL_SLEEP ? 0 : stall[i];
}

static void add_core(const sim *s, const core *c, u64 now, activity *a) {
    const platform_group *group = &s->description.group[c->group];
    const core_extras extras = c->kind->extras ? c->kind->extras(c) : (core_extras){0};
    add_instructions(c, extras.repeated, a->instruction);
    add_cycles(c, now, a);
    a->private_refills += c->private_cache.refills;
    for (u32 i = 0; i < s->memories; i++) a->memory[i].words += c->memory_words[i];
    a->memory[extras.memory].words += extras.streamed;
    for (u32 i = 0; i < ACCESS_SIZES && group->local_memory < s->memories; i++)
        a->memory[group->local_memory].words += c->local_loads[i] + c->local_stores[i];
}

void activity_until(const sim *s, u64 now, activity *a) {
    *a = (activity){.cycles = now};
    for (u32 i = 0; i < s->cores; i++) add_core(s, &s->core[i], now, a);
    for (u32 g = 0; g < s->groups; g++)
        for (u32 b = 0; b < s->icache[g].banks; b++) a->shared_refills += s->icache[g].bank[b].refills;
    for (u32 i = 0; i < s->memories; i++) {
        const memory *m = &s->memory[i];
        a->memory[i].code_words = m->fetched_lines * (FETCH_LINE_BYTES / 4);
        a->memory[i].dma_bytes = m->dma_bytes;
        a->memory[i].npu_bytes = m->npu_bytes;
    }
    if (s->core[0].kind->count) s->core[0].kind->count(s, a);
    for (u32 i = 0; i < s->devices; i++)
        if (s->device[i].type->count) s->device[i].type->count(&s->device[i], now, a);
}
