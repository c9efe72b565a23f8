#include "offload.h"

#include <stddef.h>

#include "dma.h"
#include "events.h"
#include "limits.h"
#include "npu.h"
#include "turns.h"

#define TW_INLINE inline __attribute__((always_inline))

/* Layers that were submitted and not yet waited for, by number. Only the DMA core uses this. */
static uint32_t in_flight[TW_OFFLOAD_SLOTS] TW_STATE;

/* The accelerator and the transfers of a layer, as the DMA core drives them. */
typedef struct {
  int tiles, buffers;
  tw_tile *load, *run, *store;
  tw_fetch *next;
  uint32_t loading, storing;
  uint32_t jobs[2];
} layer;

void tw_offload_init(void) { tw_npu_init(); }

/* The operands of a tile are there: the cores gather, and its first job is submitted when they have. */
static TW_INLINE void meet_to_gather(tw_tile *gather) {
  if (gather == NULL) return;
  tw_barrier_all();
  tw_npu_barrier_first();
}

/* What the other cores do meanwhile, if there is one more tile. */
static void gathered(tw_tile *gather, int tile, int tiles) {
  if (gather == NULL || tile >= tiles) return;
  tw_barrier_all();
  gather(tile, tile);
  tw_barrier_all();
}

static void start(layer *l, int tile) {
  l->run(tile, tile);
  l->jobs[tw_odd(tile)] = tw_npu_mark();
  if (tile + 1 == l->tiles && l->next != NULL) l->next();
}

static TW_INLINE void first(layer *l, tw_tile *gather) {
  l->loading = tw_begin(l->load, 0, 0);
  tw_take_turn();
  tw_finish(&l->loading);
  meet_to_gather(gather);
  start(l, 0);
  if (l->buffers > 1 && l->tiles > 1) l->loading = tw_begin(l->load, 1, 1);
}

/* Queues the next tile behind this one, then waits for this one. */
static TW_INLINE void computed(layer *l, tw_tile *gather, int early, int tile) {
  if (l->buffers > 1 && tile + 1 < l->tiles) {
    if (!early) {
      tw_finish(&l->loading);
      tw_finish(&l->storing);
    }
    meet_to_gather(gather);
    start(l, tile + 1);
  }
  tw_npu_wait(l->jobs[tw_odd(tile)]);
}

/* The operands of this tile are not needed any more, and its results are complete. */
static TW_INLINE void moved(layer *l, tw_tile *gather, int early, int tile) {
  if (early) tw_finish(&l->loading);
  if (l->buffers > 1 && tile + 2 < l->tiles) l->loading = tw_begin(l->load, tile + 2, tile + 2);
  tw_finish(&l->storing);
  l->storing = tw_begin(l->store, tile, tile);
  if (l->buffers == 1 && tile + 1 < l->tiles) {
    tw_finish(&l->storing);
    l->loading = tw_begin(l->load, tile + 1, tile + 1);
    tw_finish(&l->loading);
    meet_to_gather(gather);
    start(l, tile + 1);
  }
}

/* The tiles of a layer as the DMA core has them. Loops without a `gather` are compiled apart, without code for it, and so
 * are those of tiles that are submitted early. */
static TW_INLINE void lead(layer *l, tw_tile *gather, int early, int finishes) {
  first(l, gather);
  for (int tile = 0; tile < l->tiles; tile++) {
    computed(l, gather, early, tile);
    if (finishes) {
      tw_barrier_all();
      tw_barrier_all();
    }
    moved(l, gather, early, tile);
  }
  tw_finish(&l->storing);
}

/* The same as the cores that compute have them. */
static TW_INLINE void follow(int tiles, int buffers, tw_tile *gather, tw_tile *finish) {
  gathered(gather, 0, tiles);
  for (int tile = 0; tile < tiles; tile++) {
    if (buffers > 1) gathered(gather, tile + 1, tiles);
    if (finish != NULL) {
      tw_barrier_all();
      finish(tile, tile);
      tw_barrier_all();
    }
    if (buffers == 1) gathered(gather, tile + 1, tiles);
  }
}

static TW_INLINE void offload(int tiles, int buffers, int early, tw_tile *load, tw_tile *gather, tw_tile *run,
                              tw_tile *finish, tw_tile *store, tw_fetch *next) {
  /* The layer before may still write what this one reads, or use its buffers. */
  tw_barrier_all();
  if (tw_is_dma_core()) {
    layer l = {tiles, buffers, load, run, store, next, TW_DMA_NONE, TW_DMA_NONE, {0, 0}};
    lead(&l, gather, early, finish != NULL);
  } else if (gather != NULL || finish != NULL) {
    follow(tiles, buffers, gather, finish);
  }
}

void tw_offload(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *finish, tw_tile *store, tw_fetch *next) {
  offload(tiles, buffers, 0, load, NULL, run, finish, store, next);
}

void tw_offload_early(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *finish, tw_tile *store, tw_fetch *next) {
  offload(tiles, buffers, 1, load, NULL, run, finish, store, next);
}

void tw_offload_gathered(int tiles, int buffers, tw_tile *load, tw_tile *gather, tw_tile *run, tw_tile *finish,
                         tw_tile *store, tw_fetch *next) {
  offload(tiles, buffers, 0, load, gather, run, finish, store, next);
}

static void lead_starved(layer *l) {
  l->loading = tw_begin(l->load, 0, 0);
  tw_take_turn();
  tw_finish(&l->loading);
  if (l->tiles > 1) l->loading = tw_begin(l->load, 1, 1);
  start(l, 0);
  for (int tile = 0; tile < l->tiles; tile++) {
    tw_finish(&l->loading);
    tw_finish(&l->storing);
    tw_npu_wait(l->jobs[tw_odd(tile)]);
    if (tile + 2 < l->tiles) l->loading = tw_begin(l->load, tile + 2, tile + 2);
    if (tile + 1 < l->tiles) start(l, tile + 1);
    l->storing = tw_begin(l->store, tile, tile);
  }
  tw_finish(&l->storing);
}

void tw_offload_starved(int tiles, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  tw_barrier_all();
  if (!tw_is_dma_core()) return;
  layer l = {tiles, 2, load, run, store, next, TW_DMA_NONE, TW_DMA_NONE, {0, 0}};
  lead_starved(&l);
}

/* The DMA core describes a layer's jobs, and submits the first of them when the others have come. */
static uint32_t describe(tw_tile *run, tw_fetch *next) {
  tw_take_turn();
  tw_npu_barrier_first();
  run(0, 0);
  const uint32_t mark = tw_npu_mark();
  if (next != NULL) next();
  return mark;
}

void tw_offload_once(tw_tile *run, tw_tile *finish, tw_fetch *next) {
  if (tw_is_dma_core()) {
    tw_npu_wait(describe(run, next));
    if (finish != NULL) tw_barrier_all();
    return;
  }
  tw_barrier_all();
  if (finish == NULL) return;
  tw_barrier_all();
  finish(0, 0);
}

void tw_submit_ahead(int layer, tw_tile *run, tw_fetch *next) {
  if (tw_is_dma_core()) {
    in_flight[layer % TW_OFFLOAD_SLOTS] = describe(run, next);
  } else {
    tw_barrier_all();
  }
}

static TW_INLINE void submit(int layer, tw_tile *load, tw_tile *gather, tw_tile *run,
                                                         tw_fetch *next) {
  tw_barrier_all();
  if (!tw_is_dma_core()) {
    gathered(gather, 0, 1);
    return;
  }
  uint32_t loading = tw_begin(load, 0, 0);
  tw_take_turn();
  tw_finish(&loading);
  meet_to_gather(gather);
  run(0, 0);
  in_flight[layer % TW_OFFLOAD_SLOTS] = tw_npu_mark();
  if (next != NULL) next();
}

void tw_submit(int layer, tw_tile *load, tw_tile *run, tw_fetch *next) { submit(layer, load, NULL, run, next); }

void tw_submit_gathered(int layer, tw_tile *load, tw_tile *gather, tw_tile *run, tw_fetch *next) {
  submit(layer, load, gather, run, next);
}

void tw_wait_for(int layer, tw_tile *finish) {
  if (tw_is_dma_core()) tw_npu_wait(in_flight[layer % TW_OFFLOAD_SLOTS]);
  if (finish == NULL) return;
  tw_barrier_all();
  if (!tw_is_dma_core()) finish(0, 0);
}
