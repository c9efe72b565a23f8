/* What each core does by itself, and transfers for it. Only one core moves data: each of the others has a box in which it
 * asks for the transfers of a tile, and that core starts them as if it were the one that asks. */
#ifndef TW_EACH_H
#define TW_EACH_H

#include "pipeline.h"

#define TW_REQUEST_NONE 0u

/* Asks for the transfers of a tile; gives their number among those that this core has asked for. */
uint32_t tw_request(tw_tile *transfers, int tile, int turn);

/* Returns when they are done; at once for TW_REQUEST_NONE, which it gives. */
uint32_t tw_request_wait(uint32_t number);

/* The core that moves data starts what others ask for, until all have come to tw_each_end. */
void tw_serve_requests(void);

#define tw_each_begin() ((void)0)
void tw_each_end(void);

#endif
