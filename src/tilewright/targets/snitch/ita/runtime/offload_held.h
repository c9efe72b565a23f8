/* How the tiles of a layer are run that an accelerator computes, where one operand has a single buffer. All cores call this
 * with the same arguments; functions are as in offload.h. */
#ifndef TW_OFFLOAD_HELD_H
#define TW_OFFLOAD_HELD_H

#include "pipeline.h"

/* There are two buffers of all that `load` brings, and the accelerator has always the next tile waiting, but for what `renew`
 * brings: that stays for `held` tiles, and comes when the accelerator has ended the last of them. */
void tw_offload_held(int tiles, int held, tw_tile *load, tw_tile *renew, tw_tile *run, tw_tile *store, tw_fetch *next);

#endif
