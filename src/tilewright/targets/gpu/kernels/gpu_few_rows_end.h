/* From the sum of a product to its result. A kernel defines TW_BIAS, TW_R and TW_Y before. */
#ifndef TW_GPU_FEW_ROWS_END_H
#define TW_GPU_FEW_ROWS_END_H

#include "gpu.h"
#include "gpu_few_rows.h"

TW_GPU void tw_finish(const tw_gpu_few_rows_params *p, const TW_BIAS *bias, const TW_R *r, TW_Y *y, int32_t row,
                      int32_t column, float total) {
  const int64_t at = (int64_t)row * p->y_row + column;
  const tw_activation then = p->then;
  if (bias) total += TW_BIAS_LOAD(bias[row * p->bias_row + column * p->bias_column]);
  tw_activate(&p->activation, &total, 1, 1);
  if (r) total += TW_R_LOAD(r[at]);
  if (then.kind) total = tw_activated(then.kind, then.alpha, then.beta, total);
  y[at] = TW_Y_STORE(total);
}

#endif
