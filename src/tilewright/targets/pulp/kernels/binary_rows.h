/* The rows of two tensors, broadcast, dealt out to all cores. */
#ifndef TW_BINARY_ROWS_H
#define TW_BINARY_ROWS_H

#include "binary.h"
#include "cluster.h"
#include "xpulp.h"

/* Where row `number` begins in an operand. */
static inline int32_t tw_row_offset(const tw_binary_params *p, int32_t number, const int32_t *stride) {
  int32_t offset = 0;
  for (int32_t axis = p->rank - 2; axis >= 0; axis--) {
    const int32_t size = p->size[axis];
    const int32_t next = axis ? (int32_t)((uint32_t)number / (uint32_t)size) : 0;
    offset += (number - next * size) * stride[axis];
    number = next;
  }
  return offset;
}

/* This core's rows, or its part of each row where rows are few: ROW is called with `context` and the pieces. */
#define TW_BINARY_ROWS(ROW, context, loops, a, b, y)                                                                \
  do {                                                                                                              \
    const int32_t last = (loops)->rank - 1, count = (loops)->size[last];                                            \
    const int32_t step_a = (loops)->stride_a[last], step_b = (loops)->stride_b[last];                               \
    int32_t rows = 1;                                                                                               \
    for (int32_t axis = 0; axis < last; axis++) rows *= (loops)->size[axis];                                        \
    const tw_share all_rows = {0, rows}, all = {0, count};                                                          \
    const tw_share row = rows >= TW_CORES ? tw_share_of(rows) : all_rows;                                           \
    const tw_share part = rows >= TW_CORES ? all : tw_share_in_blocks(count, 4);                                    \
    for (int32_t i = row.first; i < row.end && part.first < part.end; i++) {                                        \
      const TW_A *const row_a = (a) + tw_row_offset(loops, i, (loops)->stride_a) + part.first * step_a;             \
      const TW_B *const row_b = (b) + tw_row_offset(loops, i, (loops)->stride_b) + part.first * step_b;             \
      ROW(context, row_a, step_a, row_b, step_b, (y) + i * count + part.first, part.end - part.first);              \
    }                                                                                                               \
  } while (0)

#endif
