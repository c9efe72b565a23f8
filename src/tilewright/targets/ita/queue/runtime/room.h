/* What is done while a kernel waits for room among the accelerator's jobs. */
#ifndef TW_ROOM_H
#define TW_ROOM_H

#include <stdint.h>

#include "pipeline.h"

/* What the end of a job allows. */
typedef struct {
  uint32_t job;
  tw_tile *load, *store; /* either may be NULL */
  int load_tile, store_tile;
  tw_fetch *next;            /* what later layers need, if it is time; NULL once it is called */
  uint32_t loading, storing; /* groups of the transfers, TW_DMA_NONE until they have begun */
  uint32_t has_begun;
} tw_meanwhile;

/* Of the tile that was submitted last. Only the DMA core uses this. */
extern tw_meanwhile tw_due;

/* Submits a tile, of which `run` may give more jobs than there is room for: transfers begin when `job` has ended, between two jobs of
 * the tile or behind them. `next` is called behind the transfers, or behind the last job if that comes first. Gives the last job. */
uint32_t tw_submit_meanwhile(tw_tile *run, int tile, uint32_t job, tw_tile *load, int load_tile, tw_tile *store, int store_tile,
                             tw_fetch *next);

/* What a kernel calls once whenever it has to wait for room; NULL where there is nothing to do. */
void tw_accelerator_meanwhile(tw_fetch *what);

/* Whether the job of a mark and all before it have ended. */
int tw_accelerator_has_ended(uint32_t mark);

#endif
