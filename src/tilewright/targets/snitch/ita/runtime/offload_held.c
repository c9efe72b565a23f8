#include "offload_held.h"

#include "dma.h"
#include "events.h"
#include "limits.h"
#include "npu.h"
#include "turns.h"

static uint32_t start(int tiles, int tile, tw_tile *run, tw_fetch *next) {
  run(tile, tile);
  const uint32_t job = tw_npu_mark();
  if (tile + 1 == tiles) tw_start(next);
  return job;
}

static void lead(int tiles, int held, tw_tile *load, tw_tile *renew, tw_tile *run, tw_tile *store, tw_fetch *next) {
  uint32_t jobs[2], storing = TW_DMA_NONE;
  uint32_t renewing = tw_begin(renew, 0, 0), loading = tw_begin(load, 0, 0);
  tw_take_turn();
  tw_finish(&renewing);
  tw_finish(&loading);
  jobs[0] = start(tiles, 0, run, next);
  loading = tw_begin(load, 1, 1);
  for (int tile = 0, left = held - 1; tile < tiles; tile++, left--) { /* left: tiles that the held part stays for */
    if (tile + 1 < tiles) {
      if (left == 0) {
        tw_npu_wait(jobs[tw_odd(tile)]);
        renewing = tw_begin(renew, tile + 1, tile + 1);
        left = held;
      }
      tw_finish(&loading);
      tw_finish(&storing);
      tw_finish(&renewing);
      jobs[tw_odd(tile + 1)] = start(tiles, tile + 1, run, next);
    }
    tw_npu_wait(jobs[tw_odd(tile)]);
    if (tile + 2 < tiles) loading = tw_begin(load, tile + 2, tile + 2);
    tw_finish(&storing);
    storing = tw_begin(store, tile, tile);
  }
  tw_finish(&storing);
}

void tw_offload_held(int tiles, int held, tw_tile *load, tw_tile *renew, tw_tile *run, tw_tile *store, tw_fetch *next) {
  /* The layer before may still write what this one reads, or use its buffers. */
  tw_barrier_all();
  if (tw_is_dma_core()) lead(tiles, held, load, renew, run, store, next);
}
