/* What the loops over tiles share: groups of transfers, and whose turn it is. Only the DMA core uses these, but for
 * cores that have tiles of their own, and transfers for them. */
#ifndef TW_TURNS_H
#define TW_TURNS_H

#include <stddef.h>

#include "pipeline.h"

/* Starts the transfers of a tile; TW_DMA_NONE where there are none. */
uint32_t tw_begin(tw_tile *transfers, int tile, int turn);

/* Waits for them, if there are any, and forgets them. */
void tw_finish(uint32_t *id);

/* The next layer's turn has come: waits for what was fetched for it. */
void tw_take_turn(void);

/* Starts what following layers need, if anything. */
static inline void tw_start(tw_fetch *next) {
  if (next != NULL) next();
}

/* How many cores compute the network that runs. */
int tw_team(void);

#endif
