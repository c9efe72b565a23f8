/* MemPool: tiles of cores and banks, in groups of tiles. What only its cores have, and what they share. */
#ifndef TW_MEMPOOL_H
#define TW_MEMPOOL_H
#include "insn.h"
#include "mempool_timing.h"
#include "sim.h"

enum {
    MP_BEFORE_FIRST = OP_FIRST - 1,
#define RV(name, ...) MP_##name,
#include "mempool.def"
#undef RV
    MP_COUNT
};

enum { MOST_TILE_GROUPS = 4, TILE_BANKS = 16, ACCESSES_IN_FLIGHT = 16, REGIONS = 4, LINES_AT_HAND = 8 };
/* Cores take turns of some cycles each. The later ones of a turn find what earlier ones have booked, and book what is left. */
enum { TURN = 32, SLOTS = 64, SLOTS_BEHIND = 32 };

/* The cycles in which a bank or a port is taken: those from `first` on, a bit each. All before are over. */
typedef struct { u64 first, taken; } slots;

/* mempool_memory.c: the rare cases. */
u64 slots_book_late(slots *k, u64 when);

/* The first free cycle from `when` on is taken: by a branch where that is `when`, so that processors need not wait to know. */
static inline u64 slots_book(slots *k, u64 when) {
    const u64 at = when - k->first;
    if (LIKELY(at < SLOTS) && LIKELY(!(k->taken >> at & 1))) {
        k->taken |= 1ull << at;
        return when;
    }
    return slots_book_late(k, when);
}

/* A cache of lines: number + 1 (0: none) and when it comes; ways are replaced in turn. */
typedef struct { u32 tag, pad; u64 ready; } cache_line;
typedef struct {
    cache_line *line;
    u32 *next;          /* way that is replaced next, by set */
    u32 sets, ways;
    u64 refills;
} line_cache;

typedef struct {
    slots out[MOST_TILE_GROUPS], in[MOST_TILE_GROUPS]; /* by the group that is asked, and the one that asks */
    slots fetch;        /* of its instruction cache */
    slots divider;
    u64 divider_free;
    line_cache cache;
} tile;

typedef struct mempool {
    u32 tiles, tile_mask, group_shift, groups;
    u32 sequential_end, sequential_shift;
    slots *bank;        /* of all tiles, 16 each */
    struct mempool_core *core;
    tile *tile;
    slots outside[MOST_TILE_GROUPS]; /* the way to L2 and registers, one for each group */
    line_cache group_cache[MOST_TILE_GROUPS];
    u32 cache_on, region_start[REGIONS], region_end[REGIONS];
    u64 refills;
    u32 unfinished;     /* the core that was stopped in the middle of its turn, counted from 1 */
    u64 turn_end;       /* of that one */
    struct device *dma;
} mempool;

typedef struct mempool_core {
    u64 ready[33];      /* when results are there */
    u32 tile, group;
    tile *own;
    u64 room;           /* when an access is done that the next one must wait for */
    u64 stored;         /* when all stores are done */
    u64 returns[ACCESSES_IN_FLIGHT]; /* when the last long accesses are done */
    u32 accesses, most_accesses;
    u32 line, next_line;/* of code: the present one; where the next one goes in the buffer */
    u32 at_hand[LINES_AT_HAND]; /* by the last bits of their numbers: lines in the buffer whose entry changes nothing */
    u32 buffer[MEMPOOL_BUFFER_LINES];
    u64 arrives[MEMPOOL_BUFFER_LINES];
    u32 wakes, trace, stack_limit, pad; /* wakes: that no wfi has taken yet */
    u64 woken_at;       /* the last of them */
} mempool_core;

/* mempool_build.c */
size_t mempool_bytes(const platform_group *g);
void mempool_build(sim *s, u32 group);
mempool_core *mempool_core_new(sim *s, u32 group, u32 index);
/* mempool_decode.c */
void mempool_decode(sim *s, u32 group, insn *slot);
void mempool_place(sim *s, insn *slot);
/* mempool_core.c */
void mempool_run(sim *s);
/* mempool_csr.c */
u32 mempool_csr(core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions);
/* mempool_memory.c */
typedef struct { u32 value, failed; u64 issued, ready; } mempool_result;
mempool_result mempool_access(sim *s, core *c, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u32 value);
/* mempool_cache.c */
u64 mempool_fetch(sim *s, core *c, insn *ip, u64 now);
void mempool_flush(sim *s);
/* mempool_control.c */
void mempool_wake(sim *s, u32 id, u64 when);
/* mempool_dma.c */
int mempool_dma_is_busy(const sim *s);

/* The slot of the first instruction of a line. */
static inline insn *line_start(insn *slot) { return slot - slot->pc % MEMPOOL_LINE_BYTES / 2; }

static inline u32 tile_of(const mempool *p, u32 offset) {
    return offset >> (offset < p->sequential_end ? p->sequential_shift : 6) & p->tile_mask;
}

/* An access to L1: when it leaves the core, and when its result can be used. */
typedef struct { u64 issued, ready; } l1_time;
static inline __attribute__((always_inline)) l1_time l1_access(mempool *p, const mempool_core *k, u32 offset, u64 now) {
    const u32 to = tile_of(p, offset);
    slots *const bank = &p->bank[to * TILE_BANKS + (offset >> 2) % TILE_BANKS];
    if (to == k->tile) {
        const u64 at = slots_book(bank, now);
        return (l1_time){at, at + MEMPOOL_BANK};
    }
    const u32 group = to >> p->group_shift, hop = group == k->group ? MEMPOOL_HOP_GROUP : MEMPOOL_HOP_FAR;
    const u64 issued = slots_book(&k->own->out[group], now);
    return (l1_time){issued, slots_book(bank, slots_book(&p->tile[to].in[k->group], issued + hop)) + MEMPOOL_BANK + hop};
}
#endif
