#include "far.h"

#include "engine.h"

#define BASE 0x50000000u

void tw_far_open(void) { engine_open(BASE); }

void tw_far_fill(const void *image, uint32_t bytes, void *staging, uint32_t size) {
  (void)image, (void)bytes, (void)staging, (void)size;
}

void tw_far_stage(void *ram, uint32_t far, uint32_t bytes) { engine_read(BASE, (uint32_t)(uintptr_t)ram, far, bytes); }

void tw_far_stage_wait(void) { engine_wait(BASE); }
