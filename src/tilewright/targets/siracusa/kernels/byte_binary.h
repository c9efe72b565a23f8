/* Defines a kernel on two tensors of bytes, broadcast, for all cores together:
 * TW_BYTE_BINARY(parameter struct, function). The function takes the parameters, two numbers and whether ties go to even,
 * and gives the result less the lowest one, which is the parameters' `low`. Bytes come and go four at a time. */
#ifndef TW_BYTE_BINARY_H
#define TW_BYTE_BINARY_H

#include "binary.h"
#include "cluster.h"
#include "xpulp.h"

#define TW_A_BYTE(word, lane) ((TW_A)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))
#define TW_B_BYTE(word, lane) ((TW_B)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))

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

/* One row; ONE rounds ties to even if the last argument says so. */
#define TW_BYTE_BINARY_ROW(NAME, PARAMS, ONE, EVEN)                                                                 \
  static __attribute__((noinline)) void NAME(const PARAMS *params, const TW_A *a, int32_t step_a, const TW_B *b,    \
                                             int32_t step_b, TW_Y *y, int32_t count) {                              \
    const PARAMS p = *params;                                                                                       \
    const int32_t low = (int32_t)(0x01010101u * (uint8_t)p.low);                                                    \
    if ((step_a | step_b) <= 1 && step_a >= 0 && step_b >= 0) {                                                     \
      const uint32_t all_a = 0x01010101u * (uint8_t)a[0], all_b = 0x01010101u * (uint8_t)b[0];                      \
      const uint8_t *from_a = step_a ? (const uint8_t *)a : (const uint8_t *)&all_a;                                \
      const uint8_t *from_b = step_b ? (const uint8_t *)b : (const uint8_t *)&all_b;                                \
      for (; count >= 4; count -= 4, from_a += 4 * step_a, from_b += 4 * step_b, y += 4) {                          \
        const uint32_t left = tw_x_load(from_a), right = tw_x_load(from_b);                                         \
        const int32_t y0 = ONE(&p, TW_A_BYTE(left, 0), TW_B_BYTE(right, 0), EVEN);                                  \
        const int32_t y1 = ONE(&p, TW_A_BYTE(left, 1), TW_B_BYTE(right, 1), EVEN);                                  \
        const int32_t y2 = ONE(&p, TW_A_BYTE(left, 2), TW_B_BYTE(right, 2), EVEN);                                  \
        const int32_t y3 = ONE(&p, TW_A_BYTE(left, 3), TW_B_BYTE(right, 3), EVEN);                                  \
        tw_x_store(y, (uint32_t)tw_x_add4((int32_t)tw_x_pack4(y0, y1, y2, y3), low));                               \
      }                                                                                                             \
      a = (const TW_A *)(const void *)from_a, b = (const TW_B *)(const void *)from_b;                               \
    }                                                                                                               \
    for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)(ONE(&p, *a, *b, EVEN) + p.low);              \
  }

/* This core's rows, or its part of each row where rows are few: ROW is called with `context` and the pieces. */
#define TW_BYTE_BINARY_ROWS(ROW, context, loops, a, b, y)                                                           \
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

#define TW_BYTE_BINARY(PARAMS, ONE)                                                                                 \
  TW_BYTE_BINARY_ROW(tw_row_half_up, PARAMS, ONE, 0)                                                                \
  TW_BYTE_BINARY_ROW(tw_row_half_even, PARAMS, ONE, 1)                                                              \
  void TW_NAME(const PARAMS *params, const TW_A *a, const TW_B *b, TW_Y *y) {                                       \
    void (*const one_row)(const PARAMS *, const TW_A *, int32_t, const TW_B *, int32_t, TW_Y *, int32_t) =          \
        params->out.even ? tw_row_half_even : tw_row_half_up;                                                       \
    TW_BYTE_BINARY_ROWS(one_row, params, &params->loops, a, b, y);                                                  \
  }

#endif
