/* Stacks that are too small: behind every instruction that takes bytes of a stack, what is left of it is looked at. A core's
 * stack ends as many bytes as it has below where the pointer was when the first bytes were taken. */
#include "engine/sim.h"
#include <stdlib.h>

enum { STACK_POINTER = 2 };

static u32 find(const stack_guard *g, u32 pc) {
    u32 low = 0, high = g->sites;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (g->site[middle] < pc) low = middle + 1;
        else high = middle;
    }
    return low;
}

int guard_is_at(const sim *s, u32 pc) {
    u32 at = find(&s->guard, pc);
    return at < s->guard.sites && s->guard.site[at] == pc;
}

/* A core is about to execute what follows such an instruction. */
void guard_pass(sim *s, const core *c, u32 pc, u64 now) {
    stack_guard *g = &s->guard;
    u32 at = find(g, pc), pointer = c->x[STACK_POINTER];
    if (at == g->sites || g->site[at] != pc || !g->bytes[c->id]) return;
    if (!g->end[c->id]) g->end[c->id] = pointer + g->taken[at] - g->bytes[c->id];
    if (pointer >= g->end[c->id]) return;
    sim_fault(s, FAULT_STACK, c, pc, now, pointer, g->end[c->id] - pointer, 1);
    s->fault.value = g->bytes[c->id];
}

static u32 *copied(const u32 *from, u32 count) {
    u32 *to = calloc(count + 1, sizeof *to);
    if (from) memcpy(to, from, count * sizeof *to);
    return to;
}

/* From now on: places behind such instructions in ascending order, what each takes, and the bytes of each core's stack. */
void guard_begin(sim *s, const u32 *sites, const u32 *taken, u32 count, const u32 *bytes) {
    guard_end(s);
    s->guard = (stack_guard){count, copied(sites, count), copied(taken, count), copied(bytes, s->cores), copied(NULL, s->cores)};
    code_place_probes(s);
}

void guard_end(sim *s) {
    free(s->guard.site);
    free(s->guard.taken);
    free(s->guard.bytes);
    free(s->guard.end);
    s->guard = (stack_guard){0};
}
