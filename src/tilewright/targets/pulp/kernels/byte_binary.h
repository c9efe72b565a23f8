/* Defines a kernel on two tensors of bytes, broadcast, for all cores together:
 * TW_BYTE_BINARY(parameter struct, function). The function takes the parameters, two numbers and whether ties go to even,
 * and gives the result less the lowest one, which is the parameters' `low`. Bytes come and go four at a time. */
#ifndef TW_BYTE_BINARY_H
#define TW_BYTE_BINARY_H

#include "binary_rows.h"

#define TW_A_BYTE(word, lane) ((TW_A)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))
#define TW_B_BYTE(word, lane) ((TW_B)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))

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

#define TW_BYTE_BINARY(PARAMS, ONE)                                                                                 \
  TW_BYTE_BINARY_ROW(tw_row_half_up, PARAMS, ONE, 0)                                                                \
  TW_BYTE_BINARY_ROW(tw_row_half_even, PARAMS, ONE, 1)                                                              \
  void TW_NAME(const PARAMS *params, const TW_A *a, const TW_B *b, TW_Y *y) {                                       \
    void (*const one_row)(const PARAMS *, const TW_A *, int32_t, const TW_B *, int32_t, TW_Y *, int32_t) =          \
        params->out.even ? tw_row_half_even : tw_row_half_up;                                                       \
    TW_BINARY_ROWS(one_row, params, &params->loops, a, b, y);                                                  \
  }

#endif
