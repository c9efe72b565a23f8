/* Work that each core does on its own, and its transfers. Only the DMA core can start transfers: each other core has a
 * mailbox for its requests, and the DMA core starts them on its behalf. */
#ifndef TW_EACH_H
#define TW_EACH_H

#include "pipeline.h"

#define TW_REQUEST_NONE 0u

/* Requests the transfers of a tile. Returns this core's request number. */
uint32_t tw_request(tw_tile *transfers, int tile, int turn);

/* Waits for the request, at once for TW_REQUEST_NONE. Returns TW_REQUEST_NONE. */
uint32_t tw_request_wait(uint32_t number);

/* Called by the DMA core: serves requests until all cores have reached tw_each_end. */
void tw_serve_requests(void);

#define tw_each_begin() ((void)0)
void tw_each_end(void);

#endif
