/* Groups of transfers of tiles. */
#ifndef TW_TURNS_H
#define TW_TURNS_H

#include "pipeline.h"

/* Starts the transfers of a tile as a group (dma.h). */
uint32_t tw_begin(tw_tile *transfers, int tile, int turn);

/* Waits for a group, if there is one; gives TW_DMA_NONE. */
uint32_t tw_finish(uint32_t id);

#endif
