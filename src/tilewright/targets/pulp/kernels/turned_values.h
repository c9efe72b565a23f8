/* Values of an attention stored anew: four rows of four become four words, one for each column. */
#ifndef TW_TURNED_VALUES_H
#define TW_TURNED_VALUES_H

#include "cluster.h"
#include "masked_attention.h"
#include "pack8.h"

/* Rows behind the last whole word of them are 0. */
static TW_COMPACT void turn_rest(const uint8_t *v, int32_t step, int32_t rows, uint32_t *to) {
  uint32_t in[4] = {0, 0, 0, 0};
  for (int32_t i = 0; i < rows; i++) in[i] = tw_x_load(v + i * step);
  tw_transpose_4x4(in, to);
}

/* One strip of a head. */
static inline void turn_strip(const uint8_t *v, int32_t step, int32_t rows, uint32_t *to) {
  for (; rows >= 4; rows -= 4, v += 4 * step, to += 4) {
    const uint32_t in[4] = {tw_x_load(v), tw_x_load(v + step), tw_x_load(v + 2 * step), tw_x_load(v + 3 * step)};
    tw_transpose_4x4(in, to);
  }
  if (rows > 0) turn_rest(v, step, rows, to);
}

/* All cores together: of each head each strip, in halves so that all have something to do. */
static __attribute__((noinline)) void turn_values(const tw_masked_attention_params *p, const int8_t *v, uint32_t *to) {
  const int32_t columns = p->shares.columns, words = (columns + 3) >> 2, step = 4 * p->strips, half = words >> 1;
  const tw_share share = tw_share_of(2 * p->shares.heads * p->strips);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t at = i >> 1, head = p->strips == 1 ? at : (int32_t)((uint32_t)at / (uint32_t)p->strips);
    const uint8_t *const from = (const uint8_t *)v + head * columns * step + 4 * (at - head * p->strips);
    const int32_t first = i & 1 ? half : 0;
    turn_strip(from + 4 * first * step, step, i & 1 ? columns - 4 * half : 4 * half, to + 4 * (at * words + first));
  }
  tw_barrier();
}

#endif
