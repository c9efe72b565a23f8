/* Groups of transfers of tiles. They are parts of the loops that use them: the stack of the core that moves data may lie
 * where each register that a function saves takes longer than the function itself. */
#ifndef TW_TURNS_H
#define TW_TURNS_H

#include "dma.h"
#include "pipeline.h"

/* Starts the transfers of a tile as a group (dma.h). */
static inline __attribute__((always_inline)) uint32_t tw_begin(tw_tile *transfers, int tile, int turn) {
  const uint32_t id = tw_dma_begin();
  transfers(tile, turn);
  return id;
}

/* Waits for a group, if there is one; gives TW_DMA_NONE. */
static inline __attribute__((always_inline)) uint32_t tw_finish(uint32_t id) {
  tw_dma_wait(id);
  return TW_DMA_NONE;
}

#endif
