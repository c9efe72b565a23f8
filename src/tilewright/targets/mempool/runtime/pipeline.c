/* The loops over tiles where no core is set aside for moving data: all of them start transfers, which are shared out or told
 * to the DMA engine (dma.c), and compute then. What a core has copied itself is there at the next barrier; for the engine's
 * transfers, the core that has started them waits before it. */
#include "pipeline.h"

#include <stddef.h>

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"

/* Transfers that were started for layers before their turn, by the layer's number: only the core that starts them uses these.
 * And what all cores call. */
static struct {
  uint32_t fetched[TW_PREFETCH_SLOTS];
  uint32_t layer;
  tw_fetch *volatile work;
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

int tw_team(void) { return (int)tw_local_own()->team; }

void tw_take_turn(void) {
  if (tw_is_dma_core()) tw_finish(&state.fetched[state.layer++ % TW_PREFETCH_SLOTS]);
}

void tw_prefetch_begin(int layer) {
  if (tw_is_dma_core()) state.fetched[layer % TW_PREFETCH_SLOTS] = tw_dma_begin();
}

void tw_prefetch_now(tw_fetch *first) {
  /* The layer before may still use the bytes. */
  tw_barrier_all();
  tw_start(first);
}

void tw_cooperative(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  /* The buffers of this layer may lie where the layer before still works. */
  if (load != NULL) tw_barrier_all();
  uint32_t loading = tw_begin(load, 0, 0), storing = TW_DMA_NONE;
  tw_take_turn();
  for (int tile = 0; tile < tiles; tile++) {
    const int more = tile + 1 < tiles;
    tw_finish(&loading);
    tw_finish(&storing);
    tw_barrier_all();
    if (buffers > 1 && tile > 0) storing = tw_begin(store, tile - 1, tile - 1);
    if (buffers > 1 && more) loading = tw_begin(load, tile + 1, tile + 1);
    if (!more) tw_start(next);
    run(tile, tile);
    if (buffers == 1 && more) {
      tw_barrier_all();
      storing = tw_begin(store, tile, tile);
      tw_finish(&storing);
      tw_barrier_all(); /* each core has stored its part, from where others load */
      loading = tw_begin(load, tile + 1, tile + 1);
    }
  }
  if (store == NULL) return;
  tw_barrier_all();
  uint32_t last = tw_begin(store, tiles - 1, tiles - 1);
  tw_finish(&storing);
  tw_finish(&last);
}

void tw_cooperative_once(tw_tile *run, tw_fetch *next) {
  tw_take_turn();
  tw_barrier_all();
  tw_start(next);
  run(0, 0);
}

void tw_dma_copy(tw_fetch *next) {
  /* The layer before may still use the bytes of what comes next. */
  if (next != NULL) tw_barrier_all();
  tw_start(next);
  tw_take_turn();
}

void tw_in_l2(tw_tile *run, tw_fetch *next) {
  tw_take_turn();
  tw_barrier_all();
  tw_start(next);
  if (tw_core() == 0) run(0, 0);
  tw_barrier_all();
}

static void call_and_meet(void) {
  state.work();
  tw_barrier_all();
}

void tw_fork(tw_fetch *function, int cores) {
  for (int i = 0; i < TW_PREFETCH_SLOTS; i++) state.fetched[i] = TW_DMA_NONE;
  state.layer = 0;
  for (int tile = 0; tile * TW_TILE_CORES < cores; tile++) tw_local_of((uint32_t)tile)->team = (uint32_t)cores;
  state.work = function;
  if (cores > 1) {
    tw_wake((uint32_t)cores);
    __asm__ volatile("wfi" ::: "memory"); /* it has woken itself, too */
  }
  call_and_meet();
}

void tw_serve(void) {
  for (;;) {
    __asm__ volatile("wfi" ::: "memory");
    call_and_meet();
  }
}
