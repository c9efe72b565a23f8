/* How cores give each other work. */
#ifndef TW_EVENTS_H
#define TW_EVENTS_H

#include <stdint.h>

#include "../kernels/cluster.h"
#include "../kernels/platform.h"
#include "limits.h"

/* Others read and write memory too: what is in memory before this is there, and what is read after it is read anew. Costs no
 * instruction. Stands before whatever starts others, and at the end of whatever waits for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* Whether this is the core that starts the DMA engine's transfers; it computes too. */
static inline int tw_is_dma_core(void) { return tw_core() == TW_DMA_CORE; }

/* Returns when all cores of the network that runs have come here. */
static inline void tw_barrier_all(void) { tw_meet(tw_local_own()->team); }

#endif
