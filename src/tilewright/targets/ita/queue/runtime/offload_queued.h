/* How the tiles of a layer are run by an accelerator that takes many jobs for a tile, more than it has room for: whoever gives
 * them waits for room, and transfers for other tiles and layers begin meanwhile. All cores call this with the same arguments; functions
 * are as in offload.h. */
#ifndef TW_OFFLOAD_QUEUED_H
#define TW_OFFLOAD_QUEUED_H

#include "pipeline.h"

/* There are two buffers of all that `load` brings. What `renew` brings, if anything, has one: it stays for `held` tiles, and
 * comes when the accelerator has ended the last of them. */
void tw_offload_queued(int tiles, int held, tw_tile *load, tw_tile *renew, tw_tile *run, tw_tile *store, tw_fetch *next);

#endif
