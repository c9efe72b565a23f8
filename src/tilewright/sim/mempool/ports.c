/* Banks and ports of MemPool: who has them in which cycle. */
#include "mempool/mempool.h"

/* The window is full, or does not reach as far: one access each cycle behind it. */
u32 book_behind(mempool *p, u32 tile, u32 port, u32 at) {
    const u32 next = WINDOW + p->tile[tile].behind[port]++;
    p->crowded |= 1ull << tile;
    return at > next ? at : next;
}

static u32 counted_from(const mempool *p, u64 when) { return when > p->turn ? (u32)(when - p->turn) : 0; }

/* The way from a group to L2 and registers. */
u64 book_outside(mempool *p, u32 group, u64 when) {
    const u32 at = counted_from(p, when);
    const u64 free = at < WINDOW ? ~p->outside[group] & ~0ull << at : 0;
    if (!free) return when;
    p->outside[group] |= free & -free;
    return p->turn + (u64)__builtin_ctzll(free);
}

/* What lies far ahead is not arbitrated, here as above. */
u64 book_fetch(mempool *p, u32 tile, u64 when) {
    const u32 at = counted_from(p, when);
    return at < WINDOW ? p->turn + book(p, tile, AT_FETCH, at) : when;
}

/* Of L1, by somebody who does not wait. */
void book_bank(mempool *p, u32 offset, u64 when) {
    const u32 tile = tile_of(p, offset);
    if (when < p->turn) return;
    p->used |= 1ull << tile;
    book(p, tile, AT_BANK + (offset >> 2) % TILE_BANKS, counted_from(p, when));
}

/* Accesses from behind the window come into the part of it that is new. */
static void catch_up(mempool *p, u32 tile, u32 by) {
    u32 left = 0;
    for (u32 i = 0; i < PORTS; i++) {
        u32 *const behind = &p->tile[tile].behind[i], come = *behind < by ? *behind : by;
        p->ports[tile].taken[i] |= come ? (~0ull >> (WINDOW - come)) << (WINDOW - by) : 0;
        left |= *behind -= come;
    }
    if (!left) p->crowded &= ~(1ull << tile);
}

static u64 shift(tile_ports *t, u32 by) {
    u64 left = 0;
    for (u32 i = 0; i < PORTS; i++) left |= t->taken[i] >>= by;
    return left;
}

static void move_on(mempool *p, u32 by) {
    for (u64 tiles = p->used; tiles; tiles &= tiles - 1) {
        const u32 tile = (u32)__builtin_ctzll(tiles);
        const u64 left = shift(&p->ports[tile], by);
        if (UNLIKELY(p->crowded >> tile & 1)) catch_up(p, tile, by);
        else if (!left) p->used &= ~(1ull << tile);
    }
    for (u32 i = 0; i < p->groups; i++) p->outside[i] >>= by;
}

/* Another turn begins. */
void book_turn(mempool *p, u64 turn) {
    while (p->turn < turn && (p->used | p->outside[0] | p->outside[1] | p->outside[2] | p->outside[3])) move_on(p, TURN), p->turn += TURN;
    p->turn = turn;
}
