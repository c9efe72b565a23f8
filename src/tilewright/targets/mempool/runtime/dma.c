/* Copies between L1 and the rest. All cores of a team call these with the same arguments. The one DMA engine moves long
 * runs of whole words, one after the other, and one core tells it to; rows and what is left over are copied by the cores,
 * each a part, while they come here. A core that has tiles of its own copies alone. */
#include "dma.h"

#include "events.h"
#include "limits.h"

#define SOURCE (*(volatile uint32_t *)TW_DMA)
#define TARGET (*(volatile uint32_t *)(TW_DMA + 4))
#define BYTES (*(volatile uint32_t *)(TW_DMA + 8))
#define LAUNCH (*(volatile uint32_t *)(TW_DMA + 0x14))
#define DONE (*(volatile uint32_t *)(TW_DMA + 0x18))

#define GROUPS 32
#define WORDS 8       /* that a core has in flight */
#define PIECE 64      /* bytes of a row that one core copies at a time */
#define SHORTEST 2048 /* shortest run, in bytes, for which starting the engine pays */
#if TW_DMA_GROUPS - 2 * TW_MOST_CORES > GROUPS
#error "GROUPS: the planner keeps more apart, those of cores that copy for themselves not counted"
#endif

/* Used by the core that starts transfers: number of transfers started, and the last transfer of each of the last GROUPS
 * groups. */
static struct {
  uint32_t group, started;
  uint32_t last[GROUPS];
} state TW_STATE;

uint32_t tw_dma_begin(void) {
  if (!tw_is_dma_core()) return TW_DMA_NONE;
  const uint32_t group = (state.group + 1) & 0x7fffffff;
  state.group = group;
  state.last[group % GROUPS] = 0;
  return group;
}

static inline void until_idle(void) {
  while (state.started > 0 && !DONE) continue;
}

/* Waits for the previous transfer before it starts the next: at most one is in flight. */
void tw_dma_wait(uint32_t id) {
  if (id == TW_DMA_NONE) return;
  if (state.last[id % GROUPS] == state.started) until_idle();
  TW_COMPILER_BARRIER();
}

static void engine(uint32_t to, uint32_t from, uint32_t bytes) {
  __asm__ volatile("fence" ::: "memory");
  until_idle();
  SOURCE = from;
  TARGET = to;
  BYTES = bytes;
  (void)LAUNCH;
  state.last[state.group % GROUPS] = ++state.started;
}

static void copy_words(uint32_t *to, const uint32_t *from, uint32_t words) {
  for (; words >= WORDS; words -= WORDS, to += WORDS, from += WORDS) {
    uint32_t found[WORDS];
    for (int i = 0; i < WORDS; i++) found[i] = from[i];
    for (int i = 0; i < WORDS; i++) to[i] = found[i];
  }
  for (; words > 0; words--) *to++ = *from++;
}

static void copy(uint32_t to, uint32_t from, uint32_t bytes) {
  uint32_t whole = 0;
  if (((to | from) & 3) == 0) {
    whole = bytes & ~3u;
    copy_words((uint32_t *)(uintptr_t)to, (const uint32_t *)(uintptr_t)from, whole / 4);
  }
  volatile uint8_t *const target = (uint8_t *)(uintptr_t)to;
  const uint8_t *const source = (const uint8_t *)(uintptr_t)from;
  for (uint32_t i = whole; i < bytes; i++) target[i] = source[i];
}

static inline int is_alone(void) {
  return (int)tw_local_own()->alone[(uint32_t)tw_core() % TW_TILE_CORES];
}

/* This core's share of the rows. Rows are aligned to words if any row is. */
static void shared(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t count, uint32_t row) {
  const uint32_t pieces = (row + PIECE - 1) / PIECE, core = (uint32_t)tw_core(), cores = tw_local_own()->team;
  uint32_t at = core / pieces, piece = core % pieces;
  const uint32_t rows = cores / pieces, rest = cores % pieces;
  while (at < count) {
    const uint32_t first = piece * PIECE, left = row - first;
    copy(to + at * to_stride + first, from + at * from_stride + first, left < PIECE ? left : PIECE);
    at += rows;
    piece += rest;
    if (piece >= pieces) {
      piece -= pieces;
      at++;
    }
  }
}

static inline int in_l1(uint32_t address) { return address < TW_L1_END; }

static void run(uint32_t to, uint32_t from, uint32_t bytes) {
  if (is_alone()) {
    copy(to, from, bytes);
    return;
  }
  uint32_t moved = 0;
  if (bytes >= SHORTEST && ((to | from) & 3) == 0 && in_l1(to) != in_l1(from)) {
    moved = bytes & ~3u;
    if (tw_is_dma_core()) engine(to, from, moved);
  }
  if (moved < bytes) shared(to + moved, 0, from + moved, 0, 1, bytes - moved);
}

static void rows(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t count, uint32_t row) {
  if (row == 0) return;
  if (is_alone()) {
    for (; count > 0; count--, to += to_stride, from += from_stride) copy(to, from, row);
  } else if (row >= SHORTEST) {
    for (; count > 0; count--, to += to_stride, from += from_stride) run(to, from, row);
  } else {
    shared(to, to_stride, from, from_stride, count, row);
  }
}

void tw_dma_in(void *l1, const void *l2, uint32_t bytes) {
  if (bytes > 0) run((uint32_t)(uintptr_t)l1, (uint32_t)(uintptr_t)l2, bytes);
}

void tw_dma_out(void *l2, const void *l1, uint32_t bytes) {
  if (bytes > 0) run((uint32_t)(uintptr_t)l2, (uint32_t)(uintptr_t)l1, bytes);
}

void tw_dma_in_rows(void *l1, const void *l2, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)l1, row, (uint32_t)(uintptr_t)l2, stride, count, row);
}

void tw_dma_out_rows(void *l2, const void *l1, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)l2, stride, (uint32_t)(uintptr_t)l1, row, count, row);
}

void tw_dma_in_strided(void *l1, uint32_t l1_stride, const void *l2, uint32_t l2_stride, uint32_t count, uint32_t row) {
  rows((uint32_t)(uintptr_t)l1, l1_stride, (uint32_t)(uintptr_t)l2, l2_stride, count, row);
}
