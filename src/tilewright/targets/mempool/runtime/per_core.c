/* The loop of layers whose cores have tiles of their own. */
#include <stddef.h>

#include "../kernels/cluster.h"
#include "events.h"
#include "turns.h"

/* The tiles of one core, which copies what they need itself: nothing is in flight when it goes on. */
static void own_tiles(int tiles, tw_tile *load, tw_tile *run, tw_tile *store) {
  const int core = tw_core(), cores = tw_team();
  volatile uint32_t *const alone = &tw_local_own()->alone[core % TW_TILE_CORES];
  *alone = 1;
  for (int tile = core, turn = 0; tile < tiles; tile += cores, turn++) {
    if (load != NULL) load(tile, turn);
    run(tile, turn);
    if (store != NULL) store(tile, turn);
  }
  *alone = 0;
}

void tw_per_core(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  (void)buffers;
  tw_take_turn();
  tw_barrier_all();
  tw_start(next);
  own_tiles(tiles, load, run, store);
  tw_barrier_all();
}
