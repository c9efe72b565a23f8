/* MemPool: tiles of cores and banks, in groups of tiles. What only its cores have, and what they share. */
#ifndef TW_MEMPOOL_H
#define TW_MEMPOOL_H
#include "isa/insn.h"
#include "mempool/timing.h"
#include "kinds/kinds.h"

enum {
    MP_BEFORE_FIRST = OP_FIRST - 1,
#define RV(name, ...) MP_##name,
#include "mempool/mempool.def"
#undef RV
    MP_COUNT
};

enum { MOST_TILE_GROUPS = 4, TILE_BANKS = 16, ACCESSES_IN_FLIGHT = 16, REGIONS = 4, LINES_AT_HAND = 8 };
/* Cores take turns of some cycles each. The later ones of a turn find what earlier ones have booked, and book what is left. */
enum { TURN = 16, WINDOW = 64 };
/* What takes one access each cycle: the banks of a tile; its ports to and from groups; its instruction cache. */
enum { AT_BANK, AT_OUT = TILE_BANKS, AT_IN = AT_OUT + MOST_TILE_GROUPS, AT_FETCH = AT_IN + MOST_TILE_GROUPS, PORTS, PORTS_ROOM = 32 };

/* The cycles from the beginning of the present turn on in which a port is taken, a bit each. */
typedef struct { u64 taken[PORTS], pad[PORTS_ROOM - PORTS]; } tile_ports;

/* A cache of lines: number + 1 (0: none) and when it comes; ways are replaced in turn. */
typedef struct { u32 tag, pad; u64 ready; } cache_line;
typedef struct {
    cache_line *line;
    u32 *next;          /* way that is replaced next, by set */
    u32 sets, ways;
    u64 refills;
} line_cache;

typedef struct {
    u32 behind[PORTS];  /* accesses that are booked behind the window */
    u64 divider_free;
    line_cache cache;
} tile;

typedef struct mempool {
    u32 tiles, tile_mask, group_shift, groups;
    u32 sequential_end, sequential_shift;
    tile_ports *ports;  /* by tile */
    u64 used, crowded;  /* tiles whose ports are taken in the window, and behind it, a bit each */
    u64 turn;           /* first cycle of the present turn */
    struct mempool_core *core;
    tile *tile;
    u64 outside[MOST_TILE_GROUPS]; /* taken likewise: the way to L2 and registers, one for each group */
    line_cache group_cache[MOST_TILE_GROUPS];
    u32 cache_on, region_start[REGIONS], region_end[REGIONS];
    u64 line[ACTOR_WORDS], in_line; /* who is to act in the present cycle; words of it that are not empty */
    u32 words, first_word, flip; /* the order of the line */
    u32 unfinished;     /* the core that was stopped in the middle of its turn, counted from 1 */
} mempool;

typedef struct mempool_core {
    u64 ready[33];      /* when results are there */
    u32 tile, group;
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

static inline mempool *pool_of(const sim *s) { return s->own; }
static inline mempool_core *core_of(const core *c) { return c->own; }

/* mempool/decode.c */
void mempool_decode(sim *s, u32 group, insn *slot);
void mempool_place(sim *s, u32 group, insn *slot);
/* mempool/core.c */
void mempool_run(sim *s);
/* mempool/csr.c */
u32 mempool_csr(core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions);
/* mempool/ports.c */
u32 book_behind(mempool *p, u32 tile, u32 port, u32 at);
u64 book_outside(mempool *p, u32 group, u64 when);
u64 book_fetch(mempool *p, u32 tile, u64 when);
void book_turn(mempool *p, u64 turn);
void book_bank(mempool *p, u32 offset, u64 when);
/* mempool/memory.c */
typedef struct { u32 value, failed; u64 issued, ready; } mempool_result;
mempool_result mempool_access(sim *s, core *c, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u32 value);
/* Why a core must not make an access: what the run ends with. */
void mempool_object(sim *s, const core *c, u32 reason, u32 pc, u64 now, u32 address, u32 size, u32 is_write);
/* mempool/cache.c */
u64 mempool_fetch(sim *s, core *c, insn *ip, u64 now);
void mempool_flush(sim *s);
u64 mempool_refills(const sim *s);
/* mempool/control.c */
void mempool_wake(sim *s, u32 id, u64 when);

/* The slot of the first instruction of a line. */
static inline insn *line_start(insn *slot) { return slot - slot->pc % MEMPOOL_LINE_BYTES / 2; }

static inline u32 tile_of(const mempool *p, u32 offset) {
    return offset >> (offset < p->sequential_end ? p->sequential_shift : 6) & p->tile_mask;
}

/* Books the first free cycle of a port from `at` on, both counted from the beginning of the turn. */
static inline u32 book(mempool *p, u32 tile, u32 port, u32 at) {
    u64 *const taken = &p->ports[tile].taken[port];
    const u64 free = at < WINDOW ? ~*taken & ~0ull << at : 0;
    if (UNLIKELY(!free)) return book_behind(p, tile, port, at);
    *taken |= free & -free;
    return (u32)__builtin_ctzll(free);
}

/* The same by a branch where that is `at`, so that processors need not wait to know. */
static inline u32 book_now(mempool *p, u32 tile, u32 port, u32 at) {
    u64 *const taken = &p->ports[tile].taken[port];
    if (UNLIKELY(*taken >> at & 1)) return book(p, tile, port, at);
    *taken |= 1ull << at;
    return at;
}

/* An access to L1 in the present turn: when it leaves the core, and when its result can be used. */
typedef struct { u64 issued, ready; } l1_time;
static inline __attribute__((always_inline)) l1_time l1_access(mempool *p, const mempool_core *k, u32 offset, u64 now) {
    const u32 to = tile_of(p, offset), bank = AT_BANK + (offset >> 2) % TILE_BANKS, at = (u32)(now - p->turn);
    if (to == k->tile) {
        const u32 issued = book_now(p, to, bank, at);
        return (l1_time){p->turn + issued, p->turn + issued + MEMPOOL_BANK};
    }
    const u32 group = to >> p->group_shift, hop = group == k->group ? MEMPOOL_HOP_GROUP : MEMPOOL_HOP_FAR;
    const u32 issued = book_now(p, k->tile, AT_OUT + group, at);
    p->used |= 1ull << to;
    return (l1_time){p->turn + issued, p->turn + book(p, to, bank, book(p, to, AT_IN + k->group, issued + hop)) + MEMPOOL_BANK + hop};
}
#endif
