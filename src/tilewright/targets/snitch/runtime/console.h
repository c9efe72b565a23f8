/* Console and exit by a store to tohost, and the cycle counter. */
#ifndef TW_CONSOLE_H
#define TW_CONSOLE_H

#include <stdint.h>

/* Defined by the boot code, with eight words for the arguments of a request. */
extern volatile uint64_t tohost, tw_call[8];

static inline void tw_print(const char *text) {
  uint32_t length = 0;
  while (text[length] != 0) length++;
  tw_call[0] = 64; /* write */
  tw_call[1] = 1;
  tw_call[2] = (uint32_t)(uintptr_t)text;
  tw_call[3] = length;
  __asm__ volatile("fence" ::: "memory");
  *(volatile uint32_t *)&tohost = (uint32_t)(uintptr_t)tw_call;
}

static inline uint32_t tw_cycle(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
  return value;
}

#endif
