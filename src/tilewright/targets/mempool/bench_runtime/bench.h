/* How a measurement of kernels counts cycles, and how it ends. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include <stdint.h>

#include "platform.h"

static inline uint32_t tw_bench_now(void) {
  uint32_t cycle;
  __asm__ volatile("csrr %0, mcycle" : "=r"(cycle) : : "memory");
  return cycle;
}

static inline void tw_bench_end(void) { *(volatile uint32_t *)TW_EXIT = 1; }

#endif
