/* Putting MemPool together from its description. */
#include "mempool/mempool.h"

static size_t cache_bytes(u32 sets, u32 ways) { return sets * (ways * sizeof(cache_line) + sizeof(u32)) + 256; }

static size_t bytes(const platform_group *g) {
    const size_t per_tile = sizeof(tile) + sizeof(tile_ports) + cache_bytes(MEMPOOL_TILE_SETS, MEMPOOL_TILE_WAYS);
    return sizeof(mempool) + g->tiles * per_tile + MOST_TILE_GROUPS * cache_bytes(MEMPOOL_GROUP_SETS, MEMPOOL_GROUP_WAYS) +
           g->cores * (sizeof(mempool_core) + 64) + 4096;
}

static line_cache new_cache(sim *s, u32 sets, u32 ways) {
    line_cache k = {.sets = sets, .ways = ways};
    k.line = sim_allocate(s, sets * ways * sizeof *k.line);
    k.next = sim_allocate(s, sets * sizeof *k.next);
    return k;
}

/* At reset code may come from everywhere through the groups' caches. */
static void reset_regions(mempool *p) {
    p->cache_on = 1;
    p->region_end[0] = ~0u;
}

static void build_group(sim *s, u32 group) {
    const platform_group *g = &s->description.group[group];
    mempool *p = s->own = sim_allocate(s, sizeof *p);
    p->tiles = g->tiles;
    p->tile_mask = g->tiles - 1;
    p->group_shift = (u32)__builtin_ctz(g->tiles_per_group);
    p->groups = g->tiles / g->tiles_per_group;
    p->sequential_end = g->tiles * g->sequential_bytes;
    p->sequential_shift = (u32)__builtin_ctz(g->sequential_bytes);
    p->ports = sim_allocate(s, g->tiles * sizeof *p->ports);
    p->core = sim_allocate(s, g->cores * sizeof *p->core);
    p->tile = sim_allocate(s, g->tiles * sizeof *p->tile);
    for (u32 i = 0; i < g->tiles; i++) p->tile[i].cache = new_cache(s, MEMPOOL_TILE_SETS, MEMPOOL_TILE_WAYS);
    for (u32 i = 0; i < p->groups; i++) p->group_cache[i] = new_cache(s, MEMPOOL_GROUP_SETS, MEMPOOL_GROUP_WAYS);
    reset_regions(p);
}

/* Tiles with cores are the first ones of each group. */
static u32 tile_of_core(const platform_group *g, u32 index) {
    const u32 place = index / g->tile_cores;
    return place / g->tiles_with_cores * g->tiles_per_group + place % g->tiles_with_cores;
}

static void build_core(sim *s, core *c, u32 index) {
    const platform_group *g = &s->description.group[c->group];
    mempool_core *k = c->own = &pool_of(s)->core[index];
    k->most_accesses = g->loads_in_flight;
    k->tile = tile_of_core(g, index);
    k->group = k->tile >> pool_of(s)->group_shift;
    k->line = NO_LINE;
    memset(k->buffer, 0xff, sizeof k->buffer);
    memset(k->at_hand, 0xff, sizeof k->at_hand);
}

static void count(const sim *s, activity *a) { a->shared_refills = mempool_refills(s); }

static const core_timing TIMING = {0}; /* all of it is in mempool/timing.h */

const core_kind MEMPOOL_CORE = {.timing = &TIMING, .run = mempool_run, .decode = mempool_decode, .place = mempool_place,
    .bytes = bytes, .build_group = build_group, .build_core = build_core, .count = count, .keeps_order = 1};
