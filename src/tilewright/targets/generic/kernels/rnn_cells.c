/* Plain recurrent cells over all steps */
#include "fast_functions.h"
#include "portable_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_rnn_cells
#endif

#define TW_MEET() ((void)0)

#include "rnn_steps.h"

void TW_NAME(const tw_recurrent_params *params, const float *x, const float *r, const float *h, const int32_t *n,
             const float *s, float *y, float *yh, void *scratch) {
  tw_rnn_steps(params, tw_units_of(params, 0, params->hidden, 0, scratch), x, r, h, n, s, y, yh);
}
