/* Plain recurrent cells over all steps; the cores share the hidden units and meet once a step */
#include "cluster.h"
#include "functions_f32.h"
#include "shared_dots_f32.h"

#ifndef TW_NAME
#define TW_NAME tw_rnn_cells_shared
#endif

#define TW_MEET() tw_barrier()

#include "rnn_steps.h"

void TW_NAME(const tw_recurrent_params *params, const float *x, const float *r, const float *h, const int32_t *n,
             const float *s, float *y, float *yh, void *scratch) {
  const tw_share share = tw_share_of(params->hidden);
  tw_rnn_steps(params, tw_units_of(params, share.first, share.end, 0, scratch), x, r, h, n, s, y, yh);
}
