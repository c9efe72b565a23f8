/* The cores of a cluster that compute one kernel together: who am I, which part is mine, wait for the others. */
#ifndef TW_CLUSTER_H
#define TW_CLUSTER_H

#include <stdint.h>

#ifndef TW_CORES
#define TW_CORES 8
#endif

#if defined(__riscv)

#include "team.h"

#else /* on the host one core is the whole team */

#undef TW_CORES
#define TW_CORES 1
static inline int32_t tw_core(void) { return 0; }
static inline void tw_barrier(void) {}

#endif

/* For what runs once in a while: instruction caches are small, and a loop should not share them with its surroundings. */
#if defined(__clang__)
#define TW_COMPACT __attribute__((noinline, minsize))
#else
#define TW_COMPACT __attribute__((noinline))
#endif

/* Does not compile where a type has another size: for structs that a DMA moves, whose bytes were counted before. */
#define TW_ASSERT_SIZE(type, bytes) extern char tw_size_of_##type[sizeof(type) == (bytes) ? 1 : -1]

typedef struct {
  int32_t first, end;
} tw_share;

/* This core's part of `count` equal things: contiguous, sizes differ by at most one. */
static inline tw_share tw_share_of(int32_t count) {
  const uint32_t core = (uint32_t)tw_core();
  tw_share share;
  share.first = (int32_t)((uint32_t)count * core / TW_CORES);
  share.end = (int32_t)((uint32_t)count * (core + 1) / TW_CORES);
  return share;
}

/* The same in whole blocks of `block` things, but for the last core's rest. */
static inline tw_share tw_share_in_blocks(int32_t count, int32_t block) {
  tw_share share = tw_share_of((int32_t)((uint32_t)(count + block - 1) / (uint32_t)block));
  share.first *= block;
  share.end *= block;
  if (share.first > count) share.first = count;
  if (share.end > count) share.end = count;
  return share;
}

#endif
