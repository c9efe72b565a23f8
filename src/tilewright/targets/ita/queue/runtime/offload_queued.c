#include "offload_queued.h"

#include <stddef.h>

#include "dma.h"
#include "events.h"
#include "limits.h"
#include "npu.h"
#include "room.h"
#include "turns.h"

/* A layer as the core that moves data has it; `tile` is the last one whose jobs are all given. */
static struct {
  int tiles, tile;
  tw_tile *load, *store;
  tw_fetch *next; /* NULL once it is called, and before its time has come */
  uint32_t job, loading, storing;
  uint32_t is_followed_up; /* the transfers that its end allows have begun */
} layer TW_STATE;

/* The operands of the tile are not needed any more, and its results are complete. */
static void follow_up(void) {
  if (layer.tile + 2 < layer.tiles) layer.loading = tw_begin(layer.load, layer.tile + 2, layer.tile + 2);
  layer.storing = tw_begin(layer.store, layer.tile, layer.tile);
  layer.is_followed_up = 1;
}

static void fetch_next(void) {
  tw_fetch *const next = layer.next;
  layer.next = NULL;
  tw_start(next);
}

static void meanwhile(void) {
  if (!layer.is_followed_up && tw_npu_has_ended(layer.job)) follow_up();
  if (layer.is_followed_up) fetch_next();
}

/* Gives the jobs of a tile; the one before may end first, or later. */
static void start(int tile, tw_tile *run, tw_fetch *next) {
  if (tile + 1 == layer.tiles) layer.next = next;
  run(tile, tile);
  const uint32_t job = tw_npu_mark();
  fetch_next();
  if (!layer.is_followed_up) {
    tw_npu_wait(layer.job);
    follow_up();
  }
  layer.job = job;
  layer.tile = tile;
  layer.is_followed_up = 0;
}

static void lead(int held, tw_tile *renew, tw_tile *run, tw_fetch *next) {
  uint32_t renewing = tw_begin(renew, 0, 0), loading = tw_begin(layer.load, 0, 0);
  tw_take_turn();
  tw_finish(&renewing);
  tw_finish(&loading);
  layer.is_followed_up = 1;
  tw_npu_meanwhile(meanwhile);
  start(0, run, next);
  if (layer.tiles > 1) layer.loading = tw_begin(layer.load, 1, 1);
  for (int tile = 1, left = held - 1; tile < layer.tiles; tile++, left--) { /* left: tiles that the held part stays for */
    tw_finish(&layer.loading);
    tw_finish(&layer.storing);
    if (left == 0) {
      tw_npu_wait(layer.job);
      renewing = tw_begin(renew, tile, tile);
      tw_finish(&renewing);
      left = held;
    }
    start(tile, run, next);
  }
  tw_npu_meanwhile(NULL);
  tw_finish(&layer.storing);
  tw_npu_wait(layer.job);
  follow_up();
  tw_finish(&layer.storing);
}

void tw_offload_queued(int tiles, int held, tw_tile *load, tw_tile *renew, tw_tile *run, tw_tile *store, tw_fetch *next) {
  /* The layer before may still write what this one reads, or use its buffers. */
  tw_barrier_all();
  if (!tw_is_dma_core()) return;
  layer.tiles = tiles;
  layer.load = load;
  layer.store = store;
  layer.next = NULL;
  layer.loading = layer.storing = TW_DMA_NONE;
  lead(held, renew, run, next);
}
