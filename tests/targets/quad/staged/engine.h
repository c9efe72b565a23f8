/* An engine that copies between a memory that it alone reaches and one with addresses, in the background and in order. */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>

#define ENGINE(base, offset) (*(volatile uint32_t *)((base) + (offset)))

static inline void engine_open(uint32_t base) {
  ENGINE(base, 0x000) = 0xffffffffu; /* clock */
  ENGINE(base, 0x380) = 4;           /* no page boundaries */
  ENGINE(base, 0x3a0) = 0;           /* RAM */
}

static inline void engine_wait(uint32_t base) {
  while (ENGINE(base, 0x2a4) != 0) {
  }
  __asm__ volatile("" ::: "memory");
}

static inline void engine_read(uint32_t base, uint32_t to, uint32_t from, uint32_t bytes) {
  __asm__ volatile("" ::: "memory");
  while ((ENGINE(base, 0x2a4) >> 1 & 0xff) >= 7) {
  }
  ENGINE(base, 0x298) = 4; /* inward */
  ENGINE(base, 0x29c) = from;
  ENGINE(base, 0x284) = bytes;
  ENGINE(base, 0x280) = to;
  ENGINE(base, 0x288) = 0x10; /* start */
}

#endif
