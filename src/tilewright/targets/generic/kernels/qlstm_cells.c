/* Quantised LSTM cells over all steps */
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlstm_cells
#endif

#define TW_MEET() ((void)0)

static inline void tw_byte_dots(const int8_t *r, const int8_t *h, int32_t hidden, int32_t first, int32_t end,
                                int32_t *sums) {
  for (int32_t i = first; i < end; i++) {
    int32_t sum = 0;
    for (int32_t k = 0; k < hidden; k++) sum += r[i * hidden + k] * h[k];
    sums[i] = sum;
  }
}

#include "qlstm_steps.h"

void TW_NAME(const tw_qlstm_params *params, const int32_t *x, const int8_t *r, const int32_t *mx, const int32_t *mr,
             const int16_t *sigmoid, const int16_t *tanh, const int32_t *b, const int8_t *h, const int16_t *c,
             const int32_t *n, int8_t *y, int8_t *yh, int16_t *yc, void *scratch) {
  const tw_qlstm_tensors with = {x, r, mx, mr, sigmoid, tanh, b, h, c, n, y, yh, yc};
  tw_qlstm_steps(params, tw_qlstm_units_of(params, 0, params->hidden, scratch), &with);
}
