/* The loop of layers whose cores have tiles of their own, where each core has a port of the DMA engine. */
#include <stddef.h>

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "turns.h"

/* The tiles of one core. */
static void own_tiles(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store) {
  const int core = tw_core(), cores = tw_team();
  uint32_t loading = TW_DMA_NONE, storing = TW_DMA_NONE;
  if (core < tiles) loading = tw_begin(load, core, 0);
  for (int tile = core, turn = 0; tile < tiles; tile += cores, turn++) {
    const int more = tile + cores < tiles;
    tw_finish(&loading);
    if (buffers > 1 && more) loading = tw_begin(load, tile + cores, turn + 1);
    if (buffers == 1) tw_finish(&storing);
    run(tile, turn);
    /* Groups of transfers are few, and the DMA core may hold some: while a core waits for one it has at most one. */
    tw_finish(&storing);
    storing = tw_begin(store, tile, turn);
    if (buffers == 1 && more) loading = tw_begin(load, tile + cores, turn + 1);
  }
  tw_finish(&storing);
}

void tw_per_core(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  if (tw_is_dma_core()) tw_take_turn();
  tw_barrier_all();
  if (tw_is_dma_core()) {
    tw_start(next);
  } else {
    own_tiles(tiles, buffers, load, run, store);
  }
  tw_barrier_all();
}
