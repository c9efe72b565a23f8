/* How a measurement of kernels on Arm cores counts cycles, and how it ends. Our emulator has the counter for all cores;
 * with TW_BENCH_ASKS, for QEMU, which has none, the program asks whoever runs it. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include "runtime/console.h"

static inline uint32_t tw_bench_now(void) {
#ifdef TW_BENCH_ASKS
  uint32_t cycles[2];
  tw_semihosting(TW_SEMIHOSTING_ELAPSED, cycles);
  return cycles[0];
#else
  return *(volatile uint32_t *)TW_DWT_CYCLES;
#endif
}

static inline void tw_bench_end(void) {
  const uint32_t reason[2] = {TW_APPLICATION_EXIT, 0};
  tw_semihosting(TW_SEMIHOSTING_EXIT, reason);
}

#endif
