/* Lines in caches: which way has one, which one it replaces. */
#ifndef TW_ICACHE_H
#define TW_ICACHE_H
#include "engine/sim.h"

/* Pseudo-random replacement: an 8-bit shift register per cache, valid ways are not spared. */
static inline u32 cache_victim(cache *k) {
    u32 r = k->random;
    k->random = (r << 1 | !((r >> 7 ^ r >> 3 ^ r >> 2 ^ r >> 1) & 1)) & 0xff;
    return (k->random >> 1) % k->ways;
}

static inline int cache_lookup(const cache *k, u32 set, u32 line) {
    for (u32 way = 0; way < k->ways; way++)
        if (k->tag[set * 4 + way] == line + 1) return (int)(set * 4 + way);
    return -1;
}
#endif
