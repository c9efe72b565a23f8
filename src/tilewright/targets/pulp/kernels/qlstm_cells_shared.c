/* Quantised LSTM cells over all steps; the cores share the hidden units and meet once a step */
#include "cluster.h"
#include "shared_byte_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_qlstm_cells_shared
#endif

#define TW_MEET() tw_barrier()

#include "qlstm_steps.h"

void TW_NAME(const tw_qlstm_params *params, const int32_t *x, const int8_t *r, const int32_t *mx, const int32_t *mr,
             const int16_t *sigmoid, const int16_t *tanh, const int32_t *b, const int8_t *h, const int16_t *c,
             const int32_t *n, int8_t *y, int8_t *yh, int16_t *yc, void *scratch) {
  const tw_qlstm_tensors with = {x, r, mx, mr, sigmoid, tanh, b, h, c, n, y, yh, yc};
  const tw_share share = tw_share_of(params->hidden);
  tw_qlstm_steps(params, tw_qlstm_units_of(params, share.first, share.end, scratch), &with);
}
