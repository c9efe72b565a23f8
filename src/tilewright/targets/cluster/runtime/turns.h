/* Groups of tile transfers. Always inlined: the DMA core's stack may lie in slow memory, where saving one register takes
 * longer than the whole function. */
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

/* Waits for a group, if there is one. Returns TW_DMA_NONE. */
static inline __attribute__((always_inline)) uint32_t tw_finish(uint32_t id) {
  tw_dma_wait(id);
  return TW_DMA_NONE;
}

#endif
