#include "dma.h"

#include "events.h"

#define COMMAND (*(volatile uint32_t *)0x10204400u)
#define STATUS (*(volatile uint32_t *)0x10204404u)

#define TO_NEAR (1u << 17)
#define INCREMENT (1u << 18)
#define ROWS (1u << 19)
#define EVENT (1u << 20)

/* The length field has 17 bits. */
#define LONGEST 0x1fff0u

uint32_t tw_dma_begin(void) { return COMMAND; }

void tw_dma_wait(uint32_t id) {
  if (id == TW_DMA_NONE) return;
  if (STATUS >> id & 1) {
    tw_event_mask_set(TW_EVENT_DMA);
    while (STATUS >> id & 1) tw_event_wait();
    tw_event_mask_clear(TW_EVENT_DMA);
  }
  STATUS = 1u << id;
}

static inline void run(uint32_t near, uint32_t far, uint32_t bytes, uint32_t direction) {
  while (bytes > 0) {
    const uint32_t part = bytes < LONGEST ? bytes : LONGEST;
    COMMAND = part | direction | INCREMENT | EVENT;
    COMMAND = near;
    COMMAND = far;
    near += part;
    far += part;
    bytes -= part;
  }
}

static inline void rows(uint32_t near, uint32_t far, uint32_t count, uint32_t row, uint32_t stride, uint32_t direction) {
  uint32_t most = count;
  if (count * row > LONGEST) most = LONGEST / row;
  while (count > 0) {
    const uint32_t part = count < most ? count : most;
    COMMAND = part * row | direction | INCREMENT | ROWS | EVENT;
    COMMAND = near;
    COMMAND = far;
    COMMAND = row;
    COMMAND = stride;
    near += part * row;
    far += part * stride;
    count -= part;
  }
}

void tw_dma_in(void *near, const void *far, uint32_t bytes) {
  run((uint32_t)(uintptr_t)near, (uint32_t)(uintptr_t)far, bytes, TO_NEAR);
}

void tw_dma_out(void *far, const void *near, uint32_t bytes) {
  run((uint32_t)(uintptr_t)near, (uint32_t)(uintptr_t)far, bytes, 0);
}

void tw_dma_in_rows(void *near, const void *far, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)near, (uint32_t)(uintptr_t)far, count, row, stride, TO_NEAR);
}

void tw_dma_out_rows(void *far, const void *near, uint32_t count, uint32_t row, uint32_t stride) {
  rows((uint32_t)(uintptr_t)near, (uint32_t)(uintptr_t)far, count, row, stride, 0);
}

void tw_dma_in_apart(void *near, uint32_t near_stride, const void *far, uint32_t far_stride, uint32_t rows, uint32_t row) {
  uint32_t to = (uint32_t)(uintptr_t)near, from = (uint32_t)(uintptr_t)far;
  for (; rows > 0; rows--, to += near_stride, from += far_stride) {
    COMMAND = row | TO_NEAR | INCREMENT | EVENT;
    COMMAND = to;
    COMMAND = from;
  }
}
