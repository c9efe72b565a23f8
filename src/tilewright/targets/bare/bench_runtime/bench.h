/* How a measurement of kernels on RISC-V cores counts cycles, and how it ends. Needs kernels/platform.h. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include <stdint.h>

static inline uint32_t tw_bench_now(void) {
  uint32_t cycle;
  __asm__ volatile("csrr %0, mcycle" : "=r"(cycle) : : "memory");
  return cycle;
}

static inline void tw_bench_end(void) { *(volatile uint32_t *)TW_EXIT = 0x80000000u; }

#endif
