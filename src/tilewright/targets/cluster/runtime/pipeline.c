#include "pipeline.h"

#include <stddef.h>

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"

/* Transfers that were started for layers before their turn, by the layer's number: only the DMA core uses these. And how
 * many cores compute the network that runs. */
static struct {
  uint32_t fetched[TW_PREFETCH_SLOTS];
  uint32_t layer;
  int cores;
} state TW_STATE;

uint32_t tw_begin(tw_tile *transfers, int tile, int turn) {
  if (transfers == NULL) return TW_DMA_NONE;
  const uint32_t id = tw_dma_begin();
  transfers(tile, turn);
  return id;
}

void tw_finish(uint32_t *id) {
  tw_dma_wait(*id);
  *id = TW_DMA_NONE;
}

int tw_team(void) { return state.cores; }

void tw_take_turn(void) { tw_finish(&state.fetched[state.layer++ % TW_PREFETCH_SLOTS]); }

void tw_prefetch_begin(int layer) { state.fetched[layer % TW_PREFETCH_SLOTS] = tw_dma_begin(); }

void tw_prefetch_now(tw_fetch *first) {
  /* The layer before may still use the bytes. */
  tw_barrier_all();
  if (tw_is_dma_core()) tw_start(first);
}

/* What the DMA core does for a layer that the others compute together. */
static void feed(int tiles, int buffers, tw_tile *load, tw_tile *store, tw_fetch *next) {
  uint32_t loading = tw_begin(load, 0, 0), storing = TW_DMA_NONE;
  tw_take_turn();
  for (int tile = 0; tile < tiles; tile++) {
    tw_finish(&loading);
    tw_finish(&storing);
    tw_barrier_all();
    if (buffers > 1) {
      if (tile > 0) storing = tw_begin(store, tile - 1, tile - 1);
      if (tile + 1 < tiles) loading = tw_begin(load, tile + 1, tile + 1);
    }
    if (tile + 1 == tiles) {
      tw_start(next);
    } else if (buffers == 1) {
      tw_barrier_all();
      storing = tw_begin(store, tile, tile);
      tw_finish(&storing);
      loading = tw_begin(load, tile + 1, tile + 1);
    }
  }
  if (store == NULL) return;
  tw_barrier_all();
  uint32_t last = tw_begin(store, tiles - 1, tiles - 1);
  tw_finish(&storing);
  tw_finish(&last);
}

void tw_cooperative(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  /* The buffers of this layer may lie where the layer before still works. */
  if (load != NULL) tw_barrier_all();
  if (tw_is_dma_core()) {
    feed(tiles, buffers, load, store, next);
    return;
  }
  for (int tile = 0; tile < tiles; tile++) {
    tw_barrier_all();
    run(tile, tile);
    if (buffers == 1 && tile + 1 < tiles) tw_barrier_all();
  }
  if (store != NULL) tw_barrier_all();
}

void tw_cooperative_once(tw_tile *run, tw_fetch *next) {
  if (tw_is_dma_core()) {
    tw_take_turn();
    tw_barrier_all();
    tw_start(next);
    return;
  }
  tw_barrier_all();
  run(0, 0);
}

void tw_dma_copy(tw_fetch *next) {
  /* The layer before may still use the bytes of what comes next. */
  if (next != NULL) tw_barrier_all();
  if (!tw_is_dma_core()) return;
  tw_start(next);
  tw_take_turn();
}

void tw_in_l2(tw_tile *run, tw_fetch *next) {
  if (tw_is_dma_core()) tw_take_turn();
  tw_barrier_all();
  if (tw_is_dma_core()) tw_start(next);
  if (tw_core() == 0) run(0, 0);
  tw_barrier_all();
}

void tw_fork(tw_fetch *function, int cores) {
  for (int i = 0; i < TW_PREFETCH_SLOTS; i++) state.fetched[i] = TW_DMA_NONE;
  state.layer = 0;
  state.cores = cores;
  /* Nobody is on the way to a barrier: the other cores wait for work. */
  tw_event_team((uint32_t)cores);
  tw_event_push((uint32_t)(uintptr_t)function);
  tw_event_pop();
  function();
  tw_barrier_all();
}

void tw_serve(void) {
  for (;;) {
    tw_fetch *const function = (tw_fetch *)(uintptr_t)tw_event_pop();
    function();
    tw_barrier_all();
  }
}
