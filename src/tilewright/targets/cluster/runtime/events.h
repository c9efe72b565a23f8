/* The event unit, as seen through a core's own registers. */
#ifndef TW_EVENTS_H
#define TW_EVENTS_H

#include <stdint.h>

#include "../kernels/cluster.h"
#include "../kernels/platform.h"
#include "limits.h"

#define TW_EVENT_LINES 1 /* a core can sleep until one of some lines is raised */
#define TW_EVENT_DMA (1u << 8)
#define TW_EVENT_BARRIER (1u << 16)
#define TW_EVENT_DISPATCH (1u << 18)

#define TW_EVENT_REGISTER(offset) (*(volatile uint32_t *)(TW_EVENT_UNIT + (offset)))

/* Compiler barrier: memory accesses are not moved across it. It emits no instruction. Needed before other cores are started
 * and after waiting for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

static inline void tw_event_mask_clear(uint32_t lines) { TW_EVENT_REGISTER(0x04) = lines; }
static inline void tw_event_mask_set(uint32_t lines) { TW_EVENT_REGISTER(0x08) = lines; }

/* A load from the event unit that stalls until an event arrives: the core sleeps meanwhile. */
#if defined(TW_COREV)
#define TW_ELW ".insn i 0x0b, 3, %0, %1, %2"
#else
#define TW_ELW ".insn i 0x03, 6, %0, %1, %2"
#endif

static inline void tw_event_wait(void) {
  uint32_t ignored;
  __asm__ volatile(TW_ELW : "=r"(ignored) : "r"(TW_EVENT_UNIT), "i"(0x3c) : "memory");
}

static inline uint32_t tw_event_pop(void) {
  uint32_t value;
  __asm__ volatile(TW_ELW : "=r"(value) : "r"(TW_EVENT_UNIT), "i"(0x80) : "memory");
  return value;
}

/* Whether this is the DMA core, which moves data and drives the accelerator. The other cores compute. */
static inline int tw_is_dma_core(void) { return tw_core() == TW_DMA_CORE; }

/* Barrier of the compute cores and the DMA core: the event unit's second barrier. */
static inline void tw_barrier_all(void) {
  uint32_t ignored;
  __asm__ volatile(TW_ELW : "=r"(ignored) : "r"(TW_EVENT_UNIT), "i"(0x23c) : "memory");
}

/* Selects the team: the first `cores` cores get work and meet at both barriers; the DMA core joins the barrier between
 * layers. */
static inline void tw_event_team(uint32_t cores) {
  const uint32_t computing = (1u << cores) - 1, all = computing | 1u << TW_DMA_CORE;
  TW_EVENT_REGISTER(0x84) = all;        /* the team that gets work */
  TW_EVENT_REGISTER(0x200) = computing; /* who must arrive at the barrier of kernels */
  TW_EVENT_REGISTER(0x20c) = computing; /* who is woken by it */
  TW_EVENT_REGISTER(0x220) = all;       /* the same, for the barrier between layers */
  TW_EVENT_REGISTER(0x22c) = all;
}

static inline void tw_event_push(uint32_t value) {
  TW_COMPILER_BARRIER();
  TW_EVENT_REGISTER(0x80) = value;
}

#endif
