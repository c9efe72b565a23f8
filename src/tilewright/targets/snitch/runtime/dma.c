/* Transfers by the cluster's only DMA engine. Only the DMA core calls these; requests.c forwards requests of the other
 * cores. */
#include "dma.h"

#include "events.h"
#include "limits.h"
#include "xdma.h"

#define GROUPS 32
#if TW_DMA_GROUPS > GROUPS
#error "GROUPS: the planner keeps more apart"
#endif

/* The last transfer of each of the last GROUPS groups. */
static struct {
  uint32_t group;
  uint32_t last[GROUPS];
} state TW_STATE;

uint32_t tw_dma_begin(void) {
  const uint32_t group = (state.group + 1) & 0x7fffffff;
  state.group = group;
  state.last[group % GROUPS] = tw_xdma_done();
  return group;
}

static inline void started(uint32_t number) { state.last[state.group % GROUPS] = number; }

int tw_dma_is_done(uint32_t id) { return (int32_t)(tw_xdma_done() - state.last[id % GROUPS]) >= 0; }

void tw_dma_wait(uint32_t id) {
  if (id == TW_DMA_NONE) return;
  while (!tw_dma_is_done(id)) continue;
  TW_COMPILER_BARRIER();
}

static inline void run(const void *from, void *to, uint32_t bytes) {
  TW_COMPILER_BARRIER();
  tw_xdma_from((uint32_t)(uintptr_t)from);
  tw_xdma_to((uint32_t)(uintptr_t)to);
  started(tw_xdma_start(bytes));
}

static inline void rows(const void *from, uint32_t from_stride, void *to, uint32_t to_stride, uint32_t count, uint32_t row) {
  TW_COMPILER_BARRIER();
  tw_xdma_from((uint32_t)(uintptr_t)from);
  tw_xdma_to((uint32_t)(uintptr_t)to);
  tw_xdma_rows(count, from_stride, to_stride);
  started(tw_xdma_start_rows(row));
}

void tw_dma_in(void *l1, const void *l2, uint32_t bytes) { run(l2, l1, bytes); }

void tw_dma_out(void *l2, const void *l1, uint32_t bytes) { run(l1, l2, bytes); }

void tw_dma_in_rows(void *l1, const void *l2, uint32_t count, uint32_t row, uint32_t stride) {
  rows(l2, stride, l1, row, count, row);
}

void tw_dma_out_rows(void *l2, const void *l1, uint32_t count, uint32_t row, uint32_t stride) {
  rows(l1, row, l2, stride, count, row);
}

void tw_dma_in_strided(void *l1, uint32_t l1_stride, const void *l2, uint32_t l2_stride, uint32_t count, uint32_t row) {
  rows(l2, l2_stride, l1, l1_stride, count, row);
}
