/* What becomes of a convolution's sum: one result. */
#ifndef TW_GPU_CONV_FINISH_H
#define TW_GPU_CONV_FINISH_H

#include "conv.h"
#include "gpu_stored.h"
#include "gpu_totals.h"

static inline TW_Y finished(const tw_conv_params *p, const TW_B *b, const int32_t *mul, const int32_t *add,
                            int32_t filter, total_t total) {
  if (b) total += (total_t)b[filter * p->bias_step];
#if TW_X_IS_FLOAT
  (void)mul, (void)add;
  tw_activate(&p->activation, &total, 1, 1);
  return TW_Y_STORE(total);
#else
  if (!p->requantised) return (TW_Y)total;
  const int32_t summand = add ? add[filter * p->add_step] : 0;
  return (TW_Y)tw_requantise(&p->requant, (int32_t)total, mul[filter * p->mul_step], summand);
#endif
}

#endif
