#include "l3.h"

#include "../kernels/platform.h"
#include "events.h"
#include "limits.h"

#define REGISTER(offset) (*(volatile uint32_t *)(TW_UDMA + (offset)))
#define CLOCK REGISTER(0x000)
#define CHANNEL 0x280
#define COMMON 0x380

#define START 0x10u
#define READ 4u
#define WRITE 0u

/* One transfer, in whole words of the memory. */
#define LONGEST (TW_L3_LONGEST_TRANSFER & ~15u)

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

/* `direction` is the base address of the registers of one direction. */
static void transfer(uint32_t direction, uint32_t command, uint32_t l2, uint32_t l3, uint32_t bytes) {
  TW_COMPILER_BARRIER();
  while (bytes > 0) {
    const uint32_t part = bytes < LONGEST ? bytes : LONGEST;
    wait_for_place();
    REGISTER(CHANNEL + 0x18) = command;
    REGISTER(CHANNEL + 0x1c) = l3;
    REGISTER(direction + 0x04) = part;
    REGISTER(direction + 0x00) = l2;
    REGISTER(direction + 0x08) = START;
    l2 += part;
    l3 += part;
    bytes -= part;
  }
}

void tw_l3_stage(void *l2, uint32_t l3, uint32_t bytes) {
  transfer(CHANNEL + 0x00, READ, (uint32_t)(uintptr_t)l2, l3, bytes);
}

void tw_l3_write(uint32_t l3, const void *l2, uint32_t bytes) {
  transfer(CHANNEL + 0x0c, WRITE, (uint32_t)(uintptr_t)l2, l3, bytes);
}

void tw_l3_stage_wait(void) {
  while (status() != 0) {
  }
  TW_COMPILER_BARRIER();
}

void tw_l3_fill(const void *image, uint32_t bytes, void *staging, uint32_t size) {
  const uint32_t *from = image;
  for (uint32_t at = 0; at < bytes; at += size) {
    const uint32_t part = bytes - at < size ? bytes - at : size;
    uint32_t *to = staging;
    for (uint32_t words = (part + 3) / 4; words > 0; words--) *to++ = *from++;
    tw_l3_write(at, staging, part);
    tw_l3_stage_wait();
  }
}
