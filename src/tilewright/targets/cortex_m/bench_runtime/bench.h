/* How a measurement of kernels on Arm cores counts cycles, and how it ends. The emulator has the counter for all cores. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include "runtime/console.h"

static inline uint32_t tw_bench_now(void) { return *(volatile uint32_t *)TW_DWT_CYCLES; }

static inline void tw_bench_end(void) {
  const uint32_t reason[2] = {TW_APPLICATION_EXIT, 0};
  tw_semihosting(TW_SEMIHOSTING_EXIT, reason);
}

#endif
