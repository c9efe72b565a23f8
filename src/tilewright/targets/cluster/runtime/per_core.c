/* The loop of layers whose cores have tiles of their own, where each core has a port of the DMA engine. */
#include <stddef.h>

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "turns.h"

/* Starts the transfers of one tile's operands and of another one's results, as one group: either may have none. */
static uint32_t begin_both(tw_tile *load, int loaded, int load_turn, tw_tile *store, int stored, int store_turn) {
  if (load == NULL && store == NULL) return TW_DMA_NONE;
  const uint32_t id = tw_dma_begin();
  if (load != NULL) load(loaded, load_turn);
  if (store != NULL) store(stored, store_turn);
  return id;
}

/* The tiles of one core. Groups of transfers are few, and the DMA core may hold some: a core has one at most, so that none
 * waits for a group until another has computed a tile. */
static void own_tiles(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store) {
  const int core = tw_core(), cores = tw_team();
  const int behind = buffers > 1; /* by how many turns results leave later */
  uint32_t moving = core < tiles ? begin_both(load, core, 0, NULL, 0, 0) : TW_DMA_NONE;
  int tile = core, turn = 0;
  for (; tile < tiles; tile += cores, turn++) {
    tw_tile *const next = tile + cores < tiles ? load : NULL;
    tw_finish(&moving);
    if (behind) moving = begin_both(next, tile + cores, turn + 1, turn > 0 ? store : NULL, tile - cores, turn - 1);
    run(tile, turn);
    if (!behind) moving = begin_both(next, tile + cores, turn + 1, store, tile, turn);
  }
  if (behind && turn > 0) {
    tw_finish(&moving);
    moving = begin_both(NULL, 0, 0, store, tile - cores, turn - 1);
  }
  tw_finish(&moving);
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
