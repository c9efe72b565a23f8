/* What is done while a kernel waits for room among the accelerator's jobs. */
#ifndef TW_ROOM_H
#define TW_ROOM_H

#include <stdint.h>

#include "pipeline.h"

/* Called once whenever a kernel has to wait; NULL where there is nothing to do. */
void tw_npu_meanwhile(tw_fetch *what);

/* Whether the job of a mark and all before it have ended. */
int tw_npu_has_ended(uint32_t mark);

#endif
