/* Quantised LSTM cells over all steps; the cores share the hidden units and meet once a step */
#include "cluster.h"
#include "xpulp.h"

#ifndef TW_NAME
#define TW_NAME tw_qlstm_cells_shared
#endif

#define TW_MEET() tw_barrier()

/* One row; where rows are whole words, four products at a time. */
static inline int32_t one_dot(const int8_t *row, const int8_t *h, int32_t hidden) {
  int32_t sum = 0, k = 0;
  if ((hidden & 3) == 0) {
    for (; k < hidden; k += 4) sum = tw_x_sdotsp4(sum, tw_x_load(row + k), tw_x_load(h + k));
  }
  for (; k < hidden; k++) sum += row[k] * h[k];
  return sum;
}

/* Four rows of whole words meet each word of h. */
static inline void four_dots(const int8_t *row, const int8_t *h, int32_t hidden, int32_t *sums) {
  const int8_t *r1 = row + hidden, *r2 = r1 + hidden, *r3 = r2 + hidden;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int32_t k = 0; k < hidden; k += 4) {
    const uint32_t word = tw_x_load(h + k);
    s0 = tw_x_sdotsp4(s0, tw_x_load(row + k), word);
    s1 = tw_x_sdotsp4(s1, tw_x_load(r1 + k), word);
    s2 = tw_x_sdotsp4(s2, tw_x_load(r2 + k), word);
    s3 = tw_x_sdotsp4(s3, tw_x_load(r3 + k), word);
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

static inline void tw_byte_dots(const int8_t *r, const int8_t *h, int32_t hidden, int32_t first, int32_t end,
                                int32_t *sums) {
  int32_t i = first;
  if ((hidden & 3) == 0) {
    for (; i + 4 <= end; i += 4) four_dots(r + i * hidden, h, hidden, sums + i);
  }
  for (; i < end; i++) sums[i] = one_dot(r + i * hidden, h, hidden);
}

#include "qlstm_steps.h"

void TW_NAME(const tw_qlstm_params *params, const int32_t *x, const int8_t *r, const int32_t *mx, const int32_t *mr,
             const int16_t *sigmoid, const int16_t *tanh, const int32_t *b, const int8_t *h, const int16_t *c,
             const int32_t *n, int8_t *y, int8_t *yh, int16_t *yc, void *scratch) {
  const tw_qlstm_tensors with = {x, r, mx, mr, sigmoid, tanh, b, h, c, n, y, yh, yc};
  const tw_share share = tw_share_of(params->hidden);
  tw_qlstm_steps(params, tw_qlstm_units_of(params, share.first, share.end, scratch), &with);
}
