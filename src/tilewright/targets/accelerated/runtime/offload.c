#include "offload.h"

#include "limits.h"
#include "accelerator.h"

/* Layers that were submitted and not yet waited for, by number. Only the DMA core uses this. */
static uint32_t in_flight[TW_OFFLOAD_SLOTS] TW_STATE;

void tw_offload_init(void) { tw_accelerator_init(); }

void tw_keep_job(int layer) { in_flight[layer % TW_OFFLOAD_SLOTS] = tw_accelerator_mark(); }

void tw_wait_layer(int layer) { tw_accelerator_wait(in_flight[layer % TW_OFFLOAD_SLOTS]); }
