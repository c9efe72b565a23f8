/* The instruction cache of a Snitch cluster. */
#include "engine/icache.h"
#include "snitch/snitch.h"

/* One shared level with lines of SNITCH_LINE_BYTES, asked for a line that a core does not have at hand. All cores that miss a line
 * wait for it together; other misses wait for their turn, and for what the DMA engine reads. */
u32 snitch_fetch_wait(sim *s, core *c, u32 line, u64 now) {
    cache *k = &s->icache[c->group].bank[0];
    u32 set = line % k->sets;
    int slot = cache_lookup(k, set, line);
    if (slot < 0) {
        u32 offset;
        memory *m = bus_memory(s, c->group, line * SNITCH_LINE_BYTES, SNITCH_LINE_BYTES, &offset);
        if (m) m->fetched_lines += SNITCH_LINE_BYTES / FETCH_LINE_BYTES;
        slot = (int)(set * 4 + cache_victim(k));
        k->refills++;
        k->tag[slot] = line + 1;
        k->busy = k->ready[slot] = later(xdma_read_end(s, now), later(now, k->busy) + SNITCH_REFILL);
    }
    return k->ready[slot] > now ? (u32)(k->ready[slot] - now) : 0;
}
