/* Layers that an accelerator computes, which the DMA core drives. `run` submits a tile; accelerator.h waits for it. */
#ifndef TW_OFFLOAD_H
#define TW_OFFLOAD_H

#include "accelerator.h"
#include "pipeline.h"

/* Before the first layer of a run. */
void tw_offload_init(void);

/* Notes that the last submitted job belongs to this layer. A later layer waits for it. */
void tw_keep_job(int layer);
void tw_wait_layer(int layer);

#endif
