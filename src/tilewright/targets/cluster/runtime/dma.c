/* Transfers by MCHAN: the last write to COMMAND of a transfer starts it. L1 is the memory of the tiles and L2 the one that
 * they are cut out of, however a chip calls them. */
#include "dma.h"

#include "../kernels/platform.h"
#include "events.h"
#include "limits.h"

#define COMMAND (*(volatile uint32_t *)TW_DMA)
#define STATUS (*(volatile uint32_t *)(TW_DMA + 4))

#define TO_L1 (1u << 17)
#define INCREMENT (1u << 18)
#define ROWS (1u << 19)
#define EVENT (1u << 20)

uint32_t tw_dma_begin(void) { return COMMAND; }

void tw_dma_wait(uint32_t id) {
  if (id == TW_DMA_NONE) return;
  if (STATUS >> id & 1) {
    tw_event_mask_set(TW_EVENT_DMA);
    while (STATUS >> id & 1) tw_event_wait();
    tw_event_mask_clear(TW_EVENT_DMA);
  }
  STATUS = 1u << id;
  TW_COMPILER_BARRIER();
}

static inline void run(uint32_t l1, uint32_t l2, uint32_t bytes, uint32_t direction) {
  TW_COMPILER_BARRIER();
  while (bytes > 0) {
    const uint32_t part = bytes < TW_LONGEST_TRANSFER ? bytes : TW_LONGEST_TRANSFER;
    COMMAND = part | direction | INCREMENT | EVENT;
    COMMAND = l1;
    COMMAND = l2;
    l1 += part;
    l2 += part;
    bytes -= part;
  }
}

/* One transfer per row, or several for a row longer than the longest transfer. */
static void each_row(uint32_t l1, uint32_t l1_stride, uint32_t l2, uint32_t l2_stride, uint32_t count, uint32_t row, uint32_t direction) {
  for (; count > 0; count--, l1 += l1_stride, l2 += l2_stride) run(l1, l2, row, direction);
}

static inline void rows(uint32_t l1, uint32_t l2, uint32_t count, uint32_t row, uint32_t stride, uint32_t direction) {
  uint32_t most = count;
  if (!TW_DMA_STRIDED || count * row > TW_LONGEST_TRANSFER) {
    if (!TW_DMA_STRIDED || row > TW_LONGEST_TRANSFER) {
      each_row(l1, row, l2, stride, count, row, direction);
      return;
    }
    most = TW_LONGEST_TRANSFER / row;
  }
  TW_COMPILER_BARRIER();
  while (count > 0) {
    const uint32_t part = count < most ? count : most;
    COMMAND = part * row | direction | INCREMENT | ROWS | EVENT;
    COMMAND = l1;
    COMMAND = l2;
    COMMAND = row;
    COMMAND = stride;
    l1 += part * row;
    l2 += part * stride;
    count -= part;
  }
}

void tw_dma_in(void *l1, const void *l2, uint32_t bytes) {
  run((uint32_t)(uintptr_t)l1, (uint32_t)(uintptr_t)l2, bytes, TO_L1);
}

void tw_dma_out(void *l2, const void *l1, uint32_t bytes) {
  run((uint32_t)(uintptr_t)l1, (uint32_t)(uintptr_t)l2, bytes, 0);
}

void tw_dma_in_rows(void *l1, const void *l2, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)l1, (uint32_t)(uintptr_t)l2, count, row, stride, TO_L1);
}

void tw_dma_out_rows(void *l2, const void *l1, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)l1, (uint32_t)(uintptr_t)l2, count, row, stride, 0);
}

void tw_dma_in_strided(void *l1, uint32_t l1_stride, const void *l2, uint32_t l2_stride, uint32_t rows, uint32_t row) {
  uint32_t to = (uint32_t)(uintptr_t)l1, from = (uint32_t)(uintptr_t)l2;
  if (row > TW_LONGEST_TRANSFER) {
    each_row(to, l1_stride, from, l2_stride, rows, row, TO_L1);
    return;
  }
  TW_COMPILER_BARRIER();
  for (; rows > 0; rows--, to += l1_stride, from += l2_stride) {
    COMMAND = row | TO_L1 | INCREMENT | EVENT;
    COMMAND = to;
    COMMAND = from;
  }
}
