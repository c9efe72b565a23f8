#include "offload.h"

#include "limits.h"
#include "npu.h"

/* Layers that were submitted and not yet waited for, by number. Only the DMA core uses this. */
static uint32_t in_flight[TW_OFFLOAD_SLOTS] TW_STATE;

void tw_offload_init(void) { tw_npu_init(); }

void tw_keep_job(int layer) { in_flight[layer % TW_OFFLOAD_SLOTS] = tw_npu_mark(); }

void tw_wait_layer(int layer) { tw_npu_wait(in_flight[layer % TW_OFFLOAD_SLOTS]); }
