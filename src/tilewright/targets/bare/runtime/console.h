/* Console output, program exit and cycle counter of a RISC-V core. */
#ifndef TW_CONSOLE_H
#define TW_CONSOLE_H

#include <stdint.h>

#include "../kernels/platform.h"

static inline void tw_print(const char *text) {
  for (; *text != 0; text++) *(volatile uint32_t *)TW_STDOUT = (uint32_t)*text;
}

static inline uint32_t tw_cycle(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
  return value;
}

#endif
