/* Dispatching work to cores, and the barrier of the compute cores and the DMA core. */
#ifndef TW_EVENTS_H
#define TW_EVENTS_H

#include <stdint.h>

#include "../kernels/cluster.h"
#include "../kernels/platform.h"
#include "limits.h"

/* Compiler barrier: memory accesses are not moved across it. It emits no instruction. Needed before other cores are started
 * and after waiting for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* State shared by the cores. The boot code places it in shared memory. */
typedef struct {
  tw_meeting meeting;
  volatile uint32_t who_meet; /* number of cores that meet; 0 for the whole cluster, which uses the hardware barrier */
  volatile uint32_t team;     /* the team: a bit for each core */
  volatile uint32_t work;
} tw_common_state;
extern tw_common_state tw_common;

/* Whether this is the DMA core. The other cores compute. */
static inline int tw_is_dma_core(void) {
  uint32_t hart;
  __asm__("csrr %0, mhartid" : "=r"(hart));
  return hart == TW_DMA_CORE;
}

/* Barrier of the compute cores and the DMA core. */
static inline void tw_barrier_all(void) {
  if (tw_common.who_meet) {
    tw_meet(&tw_common.meeting, tw_common.who_meet);
    return;
  }
  tw_fpu_wait();
  uint32_t ignored;
  __asm__ volatile("csrr %0, %1" : "=r"(ignored) : "i"(TW_BARRIER) : "memory");
}

/* Selects the team: the first `cores` cores and the DMA core get work and meet at the barriers. */
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
