/* A core's number, and how cores meet: counters in a tree, in the banks of those who count, then sleep until the last one has come. */
#ifndef TW_TEAM_H
#define TW_TEAM_H

#include <stdint.h>

#include "platform.h"

static inline int32_t tw_core(void) {
  uint32_t hart;
  __asm__("csrr %0, mhartid" : "=r"(hart));
  return (int32_t)hart;
}

/* What lies in a tile's own banks besides stacks. */
typedef struct {
  volatile uint32_t cores, tiles, nodes; /* how many have come: of the tile, of TW_RADIX tiles, of all those */
  volatile uint32_t team;                /* how many cores compute the network that runs */
  volatile uint32_t alone[TW_TILE_CORES]; /* whether a core moves data for itself and for no others */
} tw_local;

/* Of a tile with cores; others lie between. */
static inline tw_local *tw_local_of(uint32_t tile) {
  const uint32_t group = tile / TW_TILES_WITH_CORES, between = TW_GROUP_TILES - TW_TILES_WITH_CORES;
  return (tw_local *)(uintptr_t)((tile + group * between) * TW_LOCAL_BYTES);
}

static inline tw_local *tw_local_own(void) { return tw_local_of((uint32_t)tw_core() / TW_TILE_CORES); }

/* Whether this is the last of so many to come. */
static inline int tw_arrives_last(volatile uint32_t *count, uint32_t members) {
  uint32_t before;
  if (members == 1) return 1;
  __asm__ volatile("amoadd.w %0, %1, (%2)" : "=r"(before) : "r"(1), "r"(count) : "memory");
  if (before + 1 < members) return 0;
  *count = 0;
  return 1;
}

static inline uint32_t tw_at_most(uint32_t count, uint32_t most) { return count < most ? count : most; }

/* How many cores the boot code has started: a number, not a place. */
extern const char tw_booted[];

static inline void tw_wake(uint32_t cores) {
  volatile uint32_t *const wake = (uint32_t *)TW_WAKE;
  __asm__ volatile("fence" ::: "memory");
  if (cores == (uint32_t)(uintptr_t)tw_booted) {
    *wake = (uint32_t)TW_WAKE_ALL; /* those that have not been started sleep on */
  } else {
    for (uint32_t core = 0; core < cores; core++) *wake = core;
  }
}

/* Returns when the first `cores` cores have come here. */
__attribute__((noinline, unused)) static void tw_meet(uint32_t cores) {
  const uint32_t tile = (uint32_t)tw_core() / TW_TILE_CORES, node = tile / TW_RADIX;
  const uint32_t tiles = (cores + TW_TILE_CORES - 1) / TW_TILE_CORES, nodes = (tiles + TW_RADIX - 1) / TW_RADIX;
  __asm__ volatile("fence" ::: "memory");
  if (cores == 1) return;
  if (tw_arrives_last(&tw_local_of(tile)->cores, tw_at_most(cores - tile * TW_TILE_CORES, TW_TILE_CORES)) &&
      tw_arrives_last(&tw_local_of(node * TW_RADIX)->tiles, tw_at_most(tiles - node * TW_RADIX, TW_RADIX)) &&
      tw_arrives_last(&tw_local_of(0)->nodes, nodes)) {
    tw_wake(cores);
  }
  __asm__ volatile("wfi" ::: "memory");
}

/* Returns when all cores of the team have come here. */
static inline void tw_barrier(void) { tw_meet(TW_CORES); }

#endif
