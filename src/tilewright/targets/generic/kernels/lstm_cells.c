/* LSTM cells over all steps */
#include "fast_functions.h"
#include "portable_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_lstm_cells
#endif

#define TW_MEET() ((void)0)

#include "lstm_steps.h"

void TW_NAME(const tw_recurrent_params *params, const float *x, const float *r, const float *h, const float *c,
             const int32_t *n, const float *p, const float *s, float *y, float *yh, float *yc, void *scratch) {
  tw_lstm_steps(params, tw_units_of(params, 0, params->hidden, 1, scratch), x, r, h, c, n, p, s, y, yh, yc);
}
