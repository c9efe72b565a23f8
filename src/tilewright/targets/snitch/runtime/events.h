/* How cores give each other work, and how those that compute and the one that moves data meet. */
#ifndef TW_EVENTS_H
#define TW_EVENTS_H

#include <stdint.h>

#include "../kernels/cluster.h"
#include "../kernels/platform.h"
#include "limits.h"

/* Others read and write memory too: what is in memory before this is there, and what is read after it is read anew. Costs no
 * instruction. Stands before whatever starts others, and at the end of whatever waits for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* What the cores share besides tensors; the boot code has it in the memory that they share. */
typedef struct {
  tw_meeting meeting;
  volatile uint32_t who_meet; /* how many; 0 where it is the whole cluster, which has a barrier of its own */
  volatile uint32_t team;     /* who gets work: a bit for each core */
  volatile uint32_t work;
} tw_common_state;
extern tw_common_state tw_common;

/* Whether this is the core that moves data; the others compute. */
static inline int tw_is_dma_core(void) {
  uint32_t hart;
  __asm__("csrr %0, mhartid" : "=r"(hart));
  return hart == TW_DMA_CORE;
}

/* Returns when all cores that compute and the one that moves have come here. */
static inline void tw_barrier_all(void) {
  if (tw_common.who_meet) {
    tw_meet(&tw_common.meeting, tw_common.who_meet);
    return;
  }
  tw_fpu_wait();
  uint32_t ignored;
  __asm__ volatile("csrr %0, %1" : "=r"(ignored) : "i"(TW_BARRIER) : "memory");
}

/* Who gets work and comes to the barriers: the first `cores` cores and the one that moves data. */
static inline void tw_event_team(uint32_t cores) {
  tw_common.team = ((1u << cores) - 1) | 1u << TW_DMA_CORE;
  tw_common.who_meet = cores == TW_MOST_CORES ? 0 : cores + 1;
}

static inline void tw_event_push(uint32_t value) {
  tw_common.work = value;
  TW_COMPILER_BARRIER();
  *(volatile uint32_t *)TW_WAKE = tw_common.team;
}

/* Sleeps until there is work. */
static inline uint32_t tw_event_pop(void) {
  uint32_t hart;
  __asm__ volatile("wfi\n csrr %0, mhartid" : "=r"(hart) : : "memory");
  *(volatile uint32_t *)TW_WAKE_END = 1u << hart;
  return tw_common.work;
}

#endif
