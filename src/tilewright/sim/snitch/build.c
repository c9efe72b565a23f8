/* Putting a Snitch cluster together from its description, and what the engine asks its cores. */
#include "isa/divider.h"
#include "snitch/snitch.h"

static size_t bytes(const platform_group *g) { return sizeof(snitch_cluster) + 64 + g->cores * (sizeof(snitch) + 64); }

static void build_group(sim *s, u32 group) {
    (void)group;
    s->own = sim_allocate(s, sizeof(snitch_cluster));
}

static void build_core(sim *s, core *c, u32 index) {
    (void)index;
    const platform_group *g = &s->description.group[c->group];
    const u32 local = g->local_memory;
    snitch *n = c->own = sim_allocate(s, sizeof *n);
    n->due = NEVER;
    n->line[0] = n->line[1] = NO_LINE;
    n->most_loads = g->loads_in_flight;
    n->tcdm = local < s->memories ? local : 0;
    n->bank_shift = local < s->memories ? (u32)__builtin_ctz(s->description.memory[local].bank_bytes) : 2;
    for (u32 i = 0; i < STREAM_MOVERS; i++) n->mover[i].loops = 1, n->mover[i].due = n->f_ready[STREAM_REGISTER + i] = NEVER;
}

static u64 *float_register(const core *c, u32 number) { return &snitch_of(c)->f[number]; }

static core_extras extras(const core *c) {
    const snitch *n = snitch_of(c);
    return (core_extras){.repeated = n->repeated, .streamed = n->moved, .memory = n->tcdm, .element_bytes = STREAM_ELEMENT,
        .is_at_barrier = n->is_at_barrier};
}

static const core_timing TIMING = { /* the rest is in snitch/timing.h */
    .jump = 1, .mul = 4, .mulh = 4, /* [s01] */
    .divider = DIVIDER_RI5CY,
};

const core_kind SNITCH_CORE = {.timing = &TIMING, .run = snitch_run, .decode = snitch_decode, .place = snitch_place, .bytes = bytes,
    .build_group = build_group, .build_core = build_core, .float_register = float_register, .extras = extras, .collides = snitch_collides,
    .keeps_order = 1, .checks_misuse = 1};
