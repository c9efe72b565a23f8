/* Ethos-U55 and Ethos-U65: one job at a time, from a command stream and the addresses that its regions lead to.
 *
 * The registers are those of the hardware. Streams, weights and arenas begin at multiples of 16. Where a core has a data
 * cache, TW_ETHOS_U_CLEAN(stream, bytes) writes all of it to memory before a job; TW_ETHOS_U_INVALIDATE() forgets it behind
 * one, when what the core has written meanwhile is in memory, too. A system that sleeps until the interrupt defines
 * TW_ETHOS_U_WAIT(). */
#ifndef TW_ETHOS_U_DRIVER_H
#define TW_ETHOS_U_DRIVER_H

#include "tw.h"

#ifndef TW_ETHOS_U_BASE
#define TW_ETHOS_U_BASE 0x48102000u
#endif
#ifndef TW_ETHOS_U_CLEAN
#define TW_ETHOS_U_CLEAN(stream, bytes) ((void)0)
#endif
#ifndef TW_ETHOS_U_INVALIDATE
#define TW_ETHOS_U_INVALIDATE() ((void)0)
#endif
#ifndef TW_ETHOS_U_WAIT
#define TW_ETHOS_U_WAIT() ((void)0)
#endif

/* In place of a register: the device is asked to end its job. */
#define TW_ETHOS_U_JOB_ENDS 0x80000000u

enum {
  TW_ETHOS_U_STATUS = 0x04,
  TW_ETHOS_U_CMD = 0x08,
  TW_ETHOS_U_RESET = 0x0c,
  TW_ETHOS_U_QBASE = 0x10,
  TW_ETHOS_U_QSIZE = 0x20,
  TW_ETHOS_U_QCONFIG = 0x1c,
  TW_ETHOS_U_REGIONCFG = 0x3c,
  TW_ETHOS_U_BASEP = 0x80
};

/* Of STATUS and CMD. */
enum {
  TW_ETHOS_U_RUNNING = 1,
  TW_ETHOS_U_BUS_ERROR = 4,
  TW_ETHOS_U_RESETTING = 8,
  TW_ETHOS_U_PARSE_ERROR = 16,
  TW_ETHOS_U_END = 32,
  TW_ETHOS_U_RUN = 1,
  TW_ETHOS_U_CLEAR_INTERRUPT = 2
};

#ifdef TW_DOORBELL
/* For an emulator that does not trap accesses: registers are variables, and a breakpoint of semihosting asks that the
 * device looks at them. The first word is the register that was written last. */
static volatile uint32_t tw_ethos_u_doorbell[1 + 64];

static inline volatile uint32_t *tw_ethos_u_register(uint32_t offset) { return tw_ethos_u_doorbell + 1 + offset / 4; }

static inline void tw_ethos_u_ring(uint32_t offset) {
  register uint32_t request __asm__("r0") = 0x1e0;
  register volatile uint32_t *block __asm__("r1") = tw_ethos_u_doorbell;
  tw_ethos_u_doorbell[0] = offset;
  __asm__ volatile("bkpt 0xab" : "+r"(request) : "r"(block) : "memory");
}
#else
static inline volatile uint32_t *tw_ethos_u_register(uint32_t offset) {
  return (volatile uint32_t *)((uintptr_t)TW_ETHOS_U_BASE + offset);
}

static inline void tw_ethos_u_ring(uint32_t offset) { (void)offset; }
#endif

static inline void tw_ethos_u_write(uint32_t offset, uint32_t value) { *tw_ethos_u_register(offset) = value; }

static inline uint32_t tw_ethos_u_read(uint32_t offset) { return *tw_ethos_u_register(offset); }

/* TW_ETHOS_U_ALIAS_BYTES at the core's address TW_ETHOS_U_ALIAS_FROM, a TCM's, are at TW_ETHOS_U_ALIAS_TO for the NPU. */
static inline uint64_t tw_ethos_u_address_of(const void *address) {
  uintptr_t at = (uintptr_t)address;
#if defined(TW_ETHOS_U_ALIAS_BYTES) && !defined(TW_DOORBELL)
  if (at - TW_ETHOS_U_ALIAS_FROM < TW_ETHOS_U_ALIAS_BYTES) at += TW_ETHOS_U_ALIAS_TO - TW_ETHOS_U_ALIAS_FROM;
#endif
  return at;
}

static inline void tw_ethos_u_write_address(uint32_t offset, const void *address) {
  const uint64_t wide = tw_ethos_u_address_of(address);
  tw_ethos_u_write(offset, (uint32_t)wide);
  tw_ethos_u_write(offset + 4, (uint32_t)(wide >> 32));
}

/* Nobody reads results that a failed job has left: a program that cannot go on stops here. */
static inline void tw_ethos_u_check(uint32_t status) {
  const uint32_t errors = TW_ETHOS_U_BUS_ERROR | TW_ETHOS_U_PARSE_ERROR;
  if ((status & errors) || !(status & TW_ETHOS_U_END)) __builtin_trap();
}

/* What memory holds is there before the NPU starts, and what it has written is read after it has ended. */
static inline void tw_ethos_u_barrier(void) {
#if defined(__arm__)
  __asm__ volatile("dsb" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

/* Until registers may be written. */
static inline void tw_ethos_u_ready(void) {
  while (tw_ethos_u_read(TW_ETHOS_U_STATUS) & TW_ETHOS_U_RESETTING) continue;
  tw_ethos_u_write(TW_ETHOS_U_QCONFIG, 0);
  tw_ethos_u_write(TW_ETHOS_U_REGIONCFG, 0);
}

/* What the next stream's regions lead to, from the first of these on. */
static inline void tw_ethos_u_regions(uint32_t first, const void *const *regions, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) tw_ethos_u_write_address(TW_ETHOS_U_BASEP + 8 * (first + i), regions[i]);
}

static inline void tw_ethos_u_start(const void *stream, uint32_t bytes) {
  tw_ethos_u_write_address(TW_ETHOS_U_QBASE, stream);
  tw_ethos_u_write(TW_ETHOS_U_QSIZE, bytes);
  TW_ETHOS_U_CLEAN(stream, bytes);
  tw_ethos_u_barrier();
  tw_ethos_u_write(TW_ETHOS_U_CMD, TW_ETHOS_U_RUN);
  tw_ethos_u_ring(TW_ETHOS_U_CMD);
}

/* Waits for the end of the stream that was started last. */
static inline void tw_ethos_u_end(void) {
  tw_ethos_u_ring(TW_ETHOS_U_JOB_ENDS);
  while (tw_ethos_u_read(TW_ETHOS_U_STATUS) & TW_ETHOS_U_RUNNING) TW_ETHOS_U_WAIT();
  tw_ethos_u_check(tw_ethos_u_read(TW_ETHOS_U_STATUS));
  tw_ethos_u_write(TW_ETHOS_U_CMD, TW_ETHOS_U_CLEAR_INTERRUPT);
  tw_ethos_u_barrier();
  TW_ETHOS_U_INVALIDATE();
}

#endif
