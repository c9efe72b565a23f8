/* Dispatching work to cores, and their barrier. */
#ifndef TW_EVENTS_H
#define TW_EVENTS_H

#include <stdint.h>

#include "../kernels/cluster.h"
#include "../kernels/platform.h"
#include "limits.h"

/* Compiler barrier: memory accesses are not moved across it. It emits no instruction. Needed before other cores are started
 * and after waiting for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* Whether this is the core that starts the DMA engine. It also computes. */
static inline int tw_is_dma_core(void) { return tw_core() == TW_DMA_CORE; }

/* Barrier of all cores of the running network. */
static inline void tw_barrier_all(void) { tw_meet(tw_local_own()->team); }

#endif
