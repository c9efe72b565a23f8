#include "deep.h"

#include "engine.h"
#include "far.h"

#define BASE 0x50010000u

void tw_deep_open(void) {
  tw_far_open();
  engine_open(BASE);
}

void tw_deep_fill(const void *image, uint32_t bytes, void *staging, uint32_t size) {
  (void)image, (void)bytes, (void)staging, (void)size;
}

void tw_deep_stage(void *far, uint32_t deep, uint32_t bytes) {
  engine_read(BASE, (uint32_t)(uintptr_t)(tw_far_image + (uint32_t)(uintptr_t)far), deep, bytes);
}

void tw_deep_stage_wait(void) { engine_wait(BASE); }
