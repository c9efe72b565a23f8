/* How the tiles of a layer are run that an accelerator computes, which the DMA core drives. All cores call these functions
 * with the same arguments; `load`, `store` and `next` are as in pipeline.h. */
#ifndef TW_OFFLOAD_H
#define TW_OFFLOAD_H

#include "pipeline.h"

/* Before the first layer of a run. */
void tw_offload_init(void);

/* `run` submits a tile to the accelerator, `finish`, if any, makes the results from what it left, on all cores that compute. With two
 * buffers the accelerator has always the next tile waiting: transfers and `finish` go on meanwhile. */
void tw_offload(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *finish, tw_tile *store, tw_fetch *next);

/* The same where a `run` reads nothing that is loaded for its tile alone, but `finish` does: the accelerator has the next
 * tile, with the second of two buffers, before all of it is there. */
void tw_offload_early(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *finish, tw_tile *store, tw_fetch *next);

/* The same without `finish` and with two buffers, where transfers take longer than the accelerator: what is loaded for the
 * tile after the next is in flight before the next is submitted. */
void tw_offload_starved(int tiles, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next);

/* The same where all cores that compute `gather` what the accelerator reads of a tile. `run` needs no more than parameters
 * until it has described its first job: that happens meanwhile. */
void tw_offload_gathered(int tiles, int buffers, tw_tile *load, tw_tile *gather, tw_tile *run, tw_tile *finish,
                         tw_tile *store, tw_fetch *next);

/* The same for a layer of one tile without transfers, whose `run` needs no more than parameters until
 * it has described its first job: that happens while the cores are still in the layer before. */
void tw_offload_once(tw_tile *run, tw_tile *finish, tw_fetch *next);

/* Submits a layer of one tile whose result stays in L1, and goes on at once. */
void tw_submit(int layer, tw_tile *load, tw_tile *run, tw_fetch *next);

/* The same with a `gather`. */
void tw_submit_gathered(int layer, tw_tile *load, tw_tile *gather, tw_tile *run, tw_fetch *next);

/* The same for a layer as that of tw_offload_once. */
void tw_submit_ahead(int layer, tw_tile *run, tw_fetch *next);

/* Waits for a layer that was submitted, and makes its results if it has a `finish`. The barrier before the next layer
 * tells the other cores that they are complete. */
void tw_wait_for(int layer, tw_tile *finish);

#endif
