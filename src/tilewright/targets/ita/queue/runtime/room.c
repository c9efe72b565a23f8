#include "room.h"

#include <stddef.h>

#include "dma.h"
#include "limits.h"
#include "accelerator.h"
#include "turns.h"

tw_meanwhile tw_due TW_STATE;

static void fetch_next(void) {
  tw_fetch *const next = tw_due.next;
  tw_due.next = NULL;
  if (next != NULL) next();
}

static void begin(void) {
  if (tw_due.load != NULL) tw_due.loading = tw_begin(tw_due.load, tw_due.load_tile, tw_due.load_tile);
  if (tw_due.store != NULL) tw_due.storing = tw_begin(tw_due.store, tw_due.store_tile, tw_due.store_tile);
  tw_due.has_begun = 1;
}

static void meanwhile(void) {
  if (!tw_due.has_begun && tw_accelerator_has_ended(tw_due.job)) begin();
  if (tw_due.has_begun) fetch_next();
}

uint32_t tw_submit_meanwhile(tw_tile *run, int tile, uint32_t job, tw_tile *load, int load_tile, tw_tile *store, int store_tile,
                             tw_fetch *next) {
  tw_due = (tw_meanwhile){job, load, store, load_tile, store_tile, next, TW_DMA_NONE, TW_DMA_NONE, 0};
  tw_accelerator_meanwhile(meanwhile);
  run(tile, tile);
  tw_accelerator_meanwhile(NULL);
  const uint32_t last = tw_accelerator_mark();
  fetch_next();
  if (!tw_due.has_begun) {
    tw_accelerator_wait(tw_due.job);
    begin();
  }
  return last;
}
