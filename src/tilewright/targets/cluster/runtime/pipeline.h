/* What programs of layers are made of, besides transfers (dma.h) and barriers (events.h).
 *
 * Of a layer, `load` starts the transfers that a tile needs, `run` computes it, `store` starts those of its results. `turn`
 * counts the tiles that this core or team has begun: its lowest bit selects one of two buffers. */
#ifndef TW_PIPELINE_H
#define TW_PIPELINE_H

#include <stdint.h>

#include "../kernels/cluster.h"

typedef void tw_tile(int tile, int turn);
typedef void tw_fetch(void);

/* Functions that stay apart from those that call them, and what one does that has nothing to do: profiles look for them. */
#define TW_APART __attribute__((noinline))
#define TW_NOTHING() __asm__ volatile("")

/* Before loops over tiles: they stay small, as all code that is run once has to come from L2. */
#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TW_ROLLED
#endif

/* The buffer of a turn: 0 or 1. */
static inline int tw_odd(int turn) { return turn & 1; }

/* Assigns the following transfers to the layer of this number, which waits for them before it begins. */
void tw_prefetch_begin(int layer);
void tw_wait_prefetch(int layer);

/* Calls a function on the first `cores` cores and the one that moves data, and returns when all are done. Only the first
 * core calls this. Networks of one program may use different numbers of cores; the remaining cores sleep. */
void tw_fork(tw_fetch *function, int cores);

/* The number of cores that a network is compiled for. The boot code defines tw_boots_N_cores, of value N, for each N up to
 * the number that it boots: where that is too small for a network, the linker finds no symbol for it. */
#define TW_BOOTS(cores) tw_boots_##cores##_cores
#define TW_BOOTS_NAME(cores) TW_BOOTS(cores)
extern const char TW_BOOTS_NAME(TW_CORES)[];
#define TW_NETWORK_CORES ((int)(uintptr_t)TW_BOOTS_NAME(TW_CORES))

/* The other cores call this: they wait here for work. */
void tw_serve(void);

#endif
