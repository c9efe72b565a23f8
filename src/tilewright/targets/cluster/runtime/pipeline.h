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

/* TW_APART: never inlined, so that profiles find the function by name. TW_NOTHING: keeps an empty function from being
 * dropped. */
#define TW_APART __attribute__((noinline))
#define TW_NOTHING() __asm__ volatile("")

/* For loops over tiles. They are kept small, because code that runs once is fetched from L2. */
#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TW_ROLLED
#endif

/* The buffer of a turn: 0 or 1. */
static inline int tw_odd(int turn) { return turn & 1; }

/* Transfers started from now on belong to layer `layer`, which waits for them before it begins. */
void tw_prefetch_begin(int layer);
void tw_wait_prefetch(int layer);

/* Calls a function on the first `cores` cores and on the DMA core, and returns when all are done. Only core 0 calls this.
 * Networks of one program may use different numbers of cores; unused cores sleep. */
void tw_fork(tw_fetch *function, int cores);

/* The number of cores that a network is compiled for. The boot code defines tw_boots_N_cores, of value N, for each N up to
 * the number that it boots. If a network needs more cores, linking fails with an undefined symbol. */
#define TW_BOOTS(cores) tw_boots_##cores##_cores
#define TW_BOOTS_NAME(cores) TW_BOOTS(cores)
extern const char TW_BOOTS_NAME(TW_CORES)[];
#define TW_NETWORK_CORES ((int)(uintptr_t)TW_BOOTS_NAME(TW_CORES))

/* Called by all other cores, which wait here for work. */
void tw_serve(void);

#endif
