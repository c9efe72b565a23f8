/* Output by semihosting, and the cycle counter, on an Arm core. */
#ifndef TW_CONSOLE_H
#define TW_CONSOLE_H

#include <stdint.h>

#include "../kernels/platform.h"

static inline int tw_semihosting(int operation, const void *argument) {
  register int result __asm__("r0") = operation;
  register const void *parameter __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(result) : "r"(parameter) : "memory");
  return result;
}

static inline void tw_print(const char *text) { tw_semihosting(TW_SEMIHOSTING_WRITE, text); }

/* The cycle counter; 0 on cores without one, where the emulator counts cycles. */
static inline uint32_t tw_cycle(void) {
#if __ARM_ARCH >= 7
  *(volatile uint32_t *)TW_DEMCR |= TW_DEMCR_TRACE;
  *(volatile uint32_t *)TW_DWT_CONTROL |= 1;
  return *(volatile uint32_t *)TW_DWT_CYCLES;
#else
  return 0;
#endif
}

#endif
