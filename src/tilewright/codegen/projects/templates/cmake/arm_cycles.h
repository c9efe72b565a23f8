/* Cycles of a Cortex-M: by the counter of its trace unit, or, without one, by the system timer. */
#ifndef APP_CYCLES_H
#define APP_CYCLES_H

#include <stdint.h>

#define APP_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)

/* It counts down in 24 bits: calls of 2^24 cycles and more wrap around. */
static inline void cycles_start(void) {
  APP_REGISTER(0xe000e014) = 0xffffff; /* reload */
  APP_REGISTER(0xe000e018) = 0;
  APP_REGISTER(0xe000e010) = 5; /* on, at the core's clock */
}
static inline uint32_t cycles_now(void) { return APP_REGISTER(0xe000e018); }
static inline uint32_t cycles_between(uint32_t before, uint32_t after) { return (before - after) & 0xffffff; }

#else

static inline void cycles_start(void) {
  APP_REGISTER(0xe000edfc) |= 1u << 24;   /* DEMCR: trace on */
  APP_REGISTER(0xe0001fb0) = 0xc5acce55u; /* DWT_LAR: some cores lock it */
  APP_REGISTER(0xe0001004) = 0;           /* DWT_CYCCNT */
  APP_REGISTER(0xe0001000) |= 1u;         /* DWT_CTRL: count */
}
static inline uint32_t cycles_now(void) { return APP_REGISTER(0xe0001004); }
static inline uint32_t cycles_between(uint32_t before, uint32_t after) { return after - before; }

#endif

#endif
