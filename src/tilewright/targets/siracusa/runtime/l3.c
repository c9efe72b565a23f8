#include "l3.h"

#include "limits.h"

#define REGISTER(offset) (*(volatile uint32_t *)(0x1a102000u + (offset)))
#define CLOCK REGISTER(0x000)
#define CHANNEL 0x280
#define COMMON 0x380

#define START 0x10u
#define READ 4u
#define WRITE 0u

void tw_l3_open(void) {
  CLOCK = 0xffffffffu;
  REGISTER(COMMON + 0x00) = 4; /* no page boundaries */
  REGISTER(COMMON + 0x04) = 6; /* access latency */
  REGISTER(COMMON + 0x08) = 1; /* additional latency */
  REGISTER(COMMON + 0x20) = 0; /* RAM, not flash */
}

static uint32_t status(void) { return REGISTER(CHANNEL + 0x24); }

static void wait_for_place(void) {
  while ((status() >> 1 & 0xff) >= TW_L3_QUEUE - 1) {
  }
}

void tw_l3_stage(void *l2, uint32_t l3, uint32_t bytes) {
  wait_for_place();
  REGISTER(CHANNEL + 0x18) = READ;
  REGISTER(CHANNEL + 0x1c) = l3;
  REGISTER(CHANNEL + 0x04) = bytes;
  REGISTER(CHANNEL + 0x00) = (uint32_t)(uintptr_t)l2;
  REGISTER(CHANNEL + 0x08) = START;
}

void tw_l3_write(uint32_t l3, const void *l2, uint32_t bytes) {
  wait_for_place();
  REGISTER(CHANNEL + 0x18) = WRITE;
  REGISTER(CHANNEL + 0x1c) = l3;
  REGISTER(CHANNEL + 0x10) = bytes;
  REGISTER(CHANNEL + 0x0c) = (uint32_t)(uintptr_t)l2;
  REGISTER(CHANNEL + 0x14) = START;
}

void tw_l3_stage_wait(void) {
  while (status() != 0) {
  }
}

void tw_l3_fill(const void *image, uint32_t bytes, void *bounce, uint32_t size) {
  const uint32_t *from = image;
  for (uint32_t at = 0; at < bytes; at += size) {
    const uint32_t part = bytes - at < size ? bytes - at : size;
    uint32_t *to = bounce;
    for (uint32_t words = (part + 3) / 4; words > 0; words--) *to++ = *from++;
    tw_l3_write(at, bounce, part);
    tw_l3_stage_wait();
  }
}
