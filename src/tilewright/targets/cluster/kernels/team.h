/* A core's number, and the barrier of those that compute a kernel together: the event unit's first. */
#ifndef TW_TEAM_H
#define TW_TEAM_H

#include <stdint.h>

#include "platform.h"

#define TW_BARRIER_WAIT_AND_CLEAR 0x21c

static inline int32_t tw_core(void) {
  uint32_t hart;
  __asm__("csrr %0, mhartid" : "=r"(hart));
  return (int32_t)(hart & 31);
}

/* Returns when all cores of the team have come here. */
static inline void tw_barrier(void) {
  uint32_t ignored;
#if defined(TW_COREV)
  __asm__ volatile(".insn i 0x0b, 3, %0, %1, %2"
#else
  __asm__ volatile(".insn i 0x03, 6, %0, %1, %2"
#endif
                   : "=r"(ignored)
                   : "r"(TW_EVENT_UNIT), "i"(TW_BARRIER_WAIT_AND_CLEAR)
                   : "memory");
}

#endif
