/* How the tiles of a layer are run. All cores call these functions with the same arguments: those that compute, and the
 * cluster's controller, which moves data meanwhile (the DMA core).
 *
 * `load` starts the transfers that a tile needs, `run` computes it, `store` starts those of its results. `turn` counts
 * the tiles that this core or team has begun: its lowest bit selects one of two buffers. `next` starts the
 * prefetches for later layers: constants and parameters. Any of them may be NULL. */
#ifndef TW_PIPELINE_H
#define TW_PIPELINE_H

#include <stdint.h>

#include "../kernels/cluster.h"

typedef void tw_tile(int tile, int turn);
typedef void tw_fetch(void);

/* Which of two buffers. */
static inline int tw_odd(int turn) { return turn & 1; }

/* The transfers that follow are for the layer of this number; the pipeline waits for them when its turn comes. */
void tw_prefetch_begin(int layer);

/* Prefetches for the layer that is next. */
void tw_prefetch_now(tw_fetch *fetch);

/* All cores work on one tile at a time. With two buffers the transfers of the next tile and of the previous result go
 * on meanwhile. */
void tw_cooperative(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next);

/* The same for one tile without transfers. */
void tw_cooperative_once(tw_tile *run, tw_fetch *next);

/* Each core has tiles of its own and moves their data itself. */
void tw_per_core(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next);

/* A layer that is only a transfer, which was started as a prefetch. */
void tw_dma_copy(tw_fetch *next);

/* One core computes directly in L2. */
void tw_in_l2(tw_tile *run, tw_fetch *next);

/* Calls a function on the first `cores` cores and the one that moves data, and returns when all are done. Only the first
 * core calls this. Networks of a program may be for different numbers of cores; the others sleep meanwhile. */
void tw_fork(tw_fetch *function, int cores);

/* The number of cores that a network is compiled for. The boot code defines tw_boots_N_cores, of value N, for each N up to
 * the number that it boots: where that is too small for a network, the linker finds no symbol for it. */
#define TW_BOOTS(cores) tw_boots_##cores##_cores
#define TW_BOOTS_NAME(cores) TW_BOOTS(cores)
extern const char TW_BOOTS_NAME(TW_CORES)[];
#define TW_NETWORK_CORES ((int)(uintptr_t)TW_BOOTS_NAME(TW_CORES))

/* Where the other cores wait for work. */
void tw_serve(void);

#endif
