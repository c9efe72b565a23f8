/* A core's number, and the barrier of those that compute a kernel together. */
#ifndef TW_TEAM_H
#define TW_TEAM_H

#include <stdint.h>

#include "platform.h"

/* Whose part of the work this is: the core's own number, but for the core that moves data for another one. */
static inline int32_t tw_core(void) {
  uint32_t number;
  __asm__("csrr %0, mscratch" : "=r"(number));
  return (int32_t)number;
}

/* Returns when the floating-point unit has done all it was told: others may then use what it wrote and read. */
static inline void tw_fpu_wait(void) {
  uint32_t ignored;
  __asm__ volatile("fmv.x.w %0, fa0\n mv %0, %0" : "=r"(ignored) : : "memory");
}

/* How cores meet that are not all of the cluster: the last one of them to arrive begins the next round. */
typedef struct {
  volatile uint32_t arrived, round;
} tw_meeting;

static inline void tw_meet(tw_meeting *meeting, uint32_t cores) {
  tw_fpu_wait();
  const uint32_t round = meeting->round;
  uint32_t before;
  __asm__ volatile("amoadd.w %0, %1, (%2)" : "=r"(before) : "r"(1), "r"(&meeting->arrived) : "memory");
  if (before + 1 == cores) {
    meeting->arrived = 0;
    meeting->round = round + 1;
  } else {
    while (meeting->round == round) continue;
  }
  __asm__ volatile("" ::: "memory");
}

/* The boot code has it in the memory that cores share. */
extern tw_meeting tw_kernel_meeting;

/* Returns when all cores of the team have come here. */
static inline void tw_barrier(void) { tw_meet(&tw_kernel_meeting, TW_CORES); }

#endif
