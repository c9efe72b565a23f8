/* Instruction caches: one private level per core, one shared level per group, lines of 16 bytes. */
#include "engine/icache.h"

/* What a miss costs on top of the level below: one refill at a time. */
static u32 refill(cache *k, u32 set, u32 line, u64 now, u32 below) {
    u64 free = later(k->busy, k->answered), wait = (free > now ? free - now : 0) + below + FETCH_REFILL;
    u32 slot = set * 4 + cache_victim(k);
    k->refills++;
    k->tag[slot] = line + 1;
    k->busy = k->ready[slot] = now + wait;
    return (u32)wait;
}

/* A line straight from memory: latency, bank waits, and as many cycles as words of it lie in one bank. */
static u32 memory_wait(sim *s, core *c, u32 line, u64 now) {
    u32 offset, wait = 0;
    memory *m = bus_memory(s, c->group, line * FETCH_LINE_BYTES, FETCH_LINE_BYTES, &offset);
    if (!m) return 0;
    m->fetched_lines++;
    if (m->code_lines) return lines_wait(m->code_lines, offset, FETCH_LINE_BYTES, 0);
    if (!s->icache[c->group].on) return m->description->uncached_fetch[c->group];
    u32 words = FETCH_LINE_BYTES / 4, duration = (words + m->banks - 1) / m->banks;
    for (u32 i = 0; i < words; i++) {
        u32 w = bank_wait(m, offset + 4 * i, now);
        if (i < m->banks && w > wait) wait = w;
    }
    u32 latency = m->description->fetch_latency[c->group];
    return (m->hides_wait ? (u32)later(latency, wait) : latency + wait) + duration;
}

/* Parts of a line one after the other through the port of a memory, which serves all banks of a cache: when the last one comes.
 * The memory's banks are booked at once, because what is booked for later would keep others out until then. */
static u64 through_port(memory *m, u32 offset, u64 now, u64 from) {
    u64 next = later(from, m->refill_free);
    for (u32 at = 0; at < FETCH_LINE_BYTES; at += m->description->refill_port_bytes)
        next = 1 + later(next, now + bank_wait(m, offset + at, now));
    m->fetched_lines++;
    m->refill_free = next;
    return next - 1;
}

/* A line of a memory with a port. While a bank waits for one, it puts all other misses off, also those of the same line, and
 * then takes up one of them each cycle [GV]. */
static u32 ported_wait(cache *bank, u32 set, u32 line, memory *m, u32 offset, u64 now) {
    int slot = cache_lookup(bank, set, line);
    if (slot >= 0 && bank->ready[slot] < now) return 0;
    if (slot >= 0) return (u32)(++bank->answered - now);
    u64 from = bank->answered >= now ? bank->answered + FETCH_QUEUED_MISS : now;
    slot = (int)(set * 4 + cache_victim(bank));
    bank->refills++;
    bank->tag[slot] = line + 1;
    bank->answered = bank->ready[slot] = through_port(m, offset, now, from);
    return (u32)(bank->answered - now);
}

static memory *port_of(sim *s, core *c, u32 line, u32 *offset) {
    memory *m = bus_memory(s, c->group, line * FETCH_LINE_BYTES, FETCH_LINE_BYTES, offset);
    return m && m->description->refill_port_bytes ? m : NULL;
}

static u32 shared_wait(sim *s, core *c, u32 line, u64 now) {
    shared_cache *shared = &s->icache[c->group];
    if (!shared->banks) return memory_wait(s, c, line, now);
    cache *bank = &shared->bank[line % shared->banks];
    u32 set = line / shared->banks % bank->sets, offset;
    memory *m = port_of(s, c, line, &offset);
    if (m) return ported_wait(bank, set, line, m, offset, now);
    int slot = cache_lookup(bank, set, line);
    if (slot >= 0) return bank->ready[slot] > now ? (u32)(bank->ready[slot] - now) : 0;
    return refill(bank, set, line, now, memory_wait(s, c, line, now));
}

/* Called when the line is not in the private cache. */
u32 icache_wait(sim *s, core *c, u32 line, u64 now) {
    if (!s->icache[c->group].on) return memory_wait(s, c, line, now);
    if (!c->private_cache.ways) return shared_wait(s, c, line, now);
    return refill(&c->private_cache, line % c->private_cache.sets, line, now, shared_wait(s, c, line, now));
}

static void forget(cache *k) {
    if (k->tag) memset(k->tag, 0, k->sets * 4 * sizeof *k->tag);
    if (k->ready) memset(k->ready, 0, k->sets * 4 * sizeof *k->ready);
}

void icache_flush(sim *s, u32 group) {
    for (u32 i = 0; i < s->icache[group].banks; i++) forget(&s->icache[group].bank[i]);
    for (u32 i = 0; i < s->cores; i++) {
        if (s->core[i].group != group) continue;
        forget(&s->core[i].private_cache);
        s->core[i].line = NO_LINE;
    }
}
