/* The event unit, as a core sees its own part of it. */
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

/* Others read and write memory too: what is in memory before this is there, and what is read after it is read anew. Costs no
 * instruction. Stands before whatever starts others, and at the end of whatever waits for them. */
#define TW_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

static inline void tw_event_mask_clear(uint32_t lines) { TW_EVENT_REGISTER(0x04) = lines; }
static inline void tw_event_mask_set(uint32_t lines) { TW_EVENT_REGISTER(0x08) = lines; }

/* A load that the event unit answers when there is something: the core sleeps until then. */
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

/* Whether this is the core that moves data and drives the accelerator; the others compute. */
static inline int tw_is_dma_core(void) { return tw_core() == TW_DMA_CORE; }

/* Returns when all cores that compute and the one that moves have come here: the event unit's second barrier. */
static inline void tw_barrier_all(void) {
  uint32_t ignored;
  __asm__ volatile(TW_ELW : "=r"(ignored) : "r"(TW_EVENT_UNIT), "i"(0x23c) : "memory");
}

/* Who gets work and comes to the barriers: the first `cores` cores, and to that between layers the one that moves data. */
static inline void tw_event_team(uint32_t cores) {
  const uint32_t computing = (1u << cores) - 1, all = computing | 1u << TW_DMA_CORE;
  TW_EVENT_REGISTER(0x84) = all;        /* the team that gets work */
  TW_EVENT_REGISTER(0x200) = computing; /* who must arrive at the barrier of kernels */
  TW_EVENT_REGISTER(0x20c) = computing; /* who is woken by it */
  TW_EVENT_REGISTER(0x220) = all;       /* the same of the barrier between layers */
  TW_EVENT_REGISTER(0x22c) = all;
}

static inline void tw_event_push(uint32_t value) {
  TW_COMPILER_BARRIER();
  TW_EVENT_REGISTER(0x80) = value;
}

#endif
