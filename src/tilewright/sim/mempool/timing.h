/* Every timing constant of MemPool. Sources: [P] = public RTL, runtime or paper; [G] = configuration of its public simulator; [own] = chosen,
 * where nothing is public. Numbers are cycles; those to L2 and registers are in platforms/mempool.py. */
#ifndef TW_MEMPOOL_TIMING_H
#define TW_MEMPOOL_TIMING_H

enum {
    MEMPOOL_BANK = 1,            /* [P] from a bank's access to the use of its result */
    MEMPOOL_HOP_GROUP = 1,       /* [P] one way to another tile of the group: 3 in all */
    MEMPOOL_HOP_FAR = 2,         /* [P] ... of another group: 5 in all */
    MEMPOOL_ATOMIC = 1,          /* [P] what an atomic access takes longer: its write-back */
    MEMPOOL_PRODUCT = 3,         /* [own] products, sums of them, dot products: result; one may begin each cycle */
    MEMPOOL_DIVIDE = 32,         /* [P] quotients, at most, in the unit that a tile shares */
    MEMPOOL_WAKE = 15,           /* [G] from the store that wakes to the next instruction */

    MEMPOOL_LINE_BYTES = 32,     /* [P] of code */
    MEMPOOL_BUFFER_LINES = 4,    /* [P] a core's own */
    MEMPOOL_TILE_SETS = 32, MEMPOOL_TILE_WAYS = 2,   /* [P] 2 KiB */
    MEMPOOL_TILE_FETCH = 1,      /* [G] a line from the tile's cache */
    MEMPOOL_GROUP_LINE_BYTES = 64, MEMPOOL_GROUP_SETS = 64, MEMPOOL_GROUP_WAYS = 2, /* [P] 8 KiB, for lines of declared regions */
    MEMPOOL_GROUP_FETCH = 10,    /* [own] a line from the group's cache */

    MEMPOOL_DMA_LAUNCH = 10, MEMPOOL_DMA_LATENCY = 30, /* [own] from the launch to the first bytes */
};
#endif
