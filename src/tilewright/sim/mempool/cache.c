/* Code of MemPool's cores: a buffer of lines per core, a cache per tile, one per group for declared regions, L2. */
#include "mempool/mempool.h"

static cache_line *find(line_cache *k, u32 line) {
    cache_line *set = &k->line[line % k->sets * k->ways];
    for (u32 way = 0; way < k->ways; way++)
        if (set[way].tag == line + 1) return &set[way];
    return NULL;
}

static void keep(line_cache *k, u32 line, u64 ready) {
    u32 set = line % k->sets, way = k->next[set]++ % k->ways;
    k->line[set * k->ways + way] = (cache_line){.tag = line + 1, .ready = ready};
    k->refills++;
}

static int is_declared(const mempool *p, u32 address) {
    for (u32 i = 0; p->cache_on && i < REGIONS; i++)
        if (address >= p->region_start[i] && address < p->region_end[i]) return 1;
    return 0;
}

/* A line of the tile's cache that is not there: from the group's cache, or from memory. */
static u64 from_below(sim *s, const core *c, u32 line, u64 now) {
    mempool *p = pool_of(s);
    u32 address = line * MEMPOOL_LINE_BYTES, offset;
    memory *m = bus_memory(s, c->group, address, MEMPOOL_LINE_BYTES, &offset);
    u32 latency = m ? m->description->fetch_latency[c->group] : 0;
    if (!is_declared(p, address)) {
        if (m) m->fetched_lines += MEMPOOL_LINE_BYTES / FETCH_LINE_BYTES;
        return book_outside(p, core_of(c)->group, now) + latency;
    }
    line_cache *k = &p->group_cache[core_of(c)->group];
    u32 wide = address / MEMPOOL_GROUP_LINE_BYTES;
    cache_line *found = find(k, wide);
    if (found) return later(found->ready, now) + MEMPOOL_GROUP_FETCH;
    u64 ready = book_outside(p, core_of(c)->group, now + MEMPOOL_GROUP_FETCH) + latency;
    if (m) m->fetched_lines += MEMPOOL_GROUP_LINE_BYTES / FETCH_LINE_BYTES;
    keep(k, wide, ready);
    return ready;
}

/* When a line comes that is not in the core's buffer. */
static u64 from_tile(sim *s, const core *c, u32 line, u64 now) {
    tile *own = &pool_of(s)->tile[core_of(c)->tile];
    u64 asked = book_fetch(pool_of(s), core_of(c)->tile, now);
    cache_line *found = find(&own->cache, line);
    if (found) return later(found->ready, asked) + MEMPOOL_TILE_FETCH;
    u64 ready = from_below(s, c, line, asked + MEMPOOL_TILE_FETCH);
    keep(&own->cache, line, ready);
    return ready;
}

static i32 in_buffer(const mempool_core *k, u32 line) {
    for (i32 i = 0; i < MEMPOOL_BUFFER_LINES; i++)
        if (k->buffer[i] == line) return i;
    return -1;
}

static void forget_at_hand(mempool_core *k) { memset(k->at_hand, 0xff, sizeof k->at_hand); }

static i32 take(sim *s, const core *c, u32 line, u64 now) {
    mempool_core *k = core_of(c);
    u32 at = k->next_line++ % MEMPOOL_BUFFER_LINES;
    k->buffer[at] = line;
    k->arrives[at] = from_tile(s, c, line, now);
    forget_at_hand(k);
    return (i32)at;
}

/* Is there code behind a line? */
static int goes_on(sim *s, const core *c, u32 line) {
    u32 offset, next = (line + 1) * MEMPOOL_LINE_BYTES;
    return next % (1 << PAGE_BITS) || bus_memory(s, c->group, next, MEMPOOL_LINE_BYTES, &offset);
}

/* A core comes to another line: when its instructions are there. The line behind it is fetched ahead, unless this one jumps back. */
u64 mempool_fetch(sim *s, core *c, insn *ip, u64 now) {
    mempool_core *k = core_of(c);
    const u32 line = ip->pc / MEMPOOL_LINE_BYTES;
    i32 at = in_buffer(k, line);
    if (at < 0) at = take(s, c, line, now);
    const u64 there = later(now, k->arrives[at]);
    k->line = line;
    if (!(line_start(ip)->flags & INSN_TURNS) && in_buffer(k, line + 1) < 0 && goes_on(s, c, line)) take(s, c, line + 1, there);
    k->at_hand[line % LINES_AT_HAND] = line;
    return there;
}

static void forget(line_cache *k) { memset(k->line, 0, k->sets * k->ways * sizeof *k->line); }

/* Code has changed. */
void mempool_flush(sim *s) {
    mempool *p = pool_of(s);
    for (u32 i = 0; i < p->tiles; i++) forget(&p->tile[i].cache);
    for (u32 i = 0; i < p->groups; i++) forget(&p->group_cache[i]);
    for (u32 i = 0; i < s->cores; i++) {
        mempool_core *k = core_of(&s->core[i]);
        k->line = NO_LINE;
        for (u32 j = 0; j < MEMPOOL_BUFFER_LINES; j++) k->buffer[j] = NO_LINE;
        forget_at_hand(k);
    }
}

/* Lines that the tiles' caches have taken. */
u64 mempool_refills(const sim *s) {
    u64 refills = 0;
    for (u32 i = 0; i < pool_of(s)->tiles; i++) refills += pool_of(s)->tile[i].cache.refills;
    return refills;
}
