/* y = (x - zero) * scale with one scale; all cores together. */
#include "dequantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_dequantizelinear_shared_i8
#define TW_X int8_t
#define TW_ZERO int8_t
#endif

#include "cluster.h"

void TW_NAME(const tw_dequantizelinear_params *params, const TW_X *x, const float *scale, const TW_ZERO *zero, float *y) {
  const tw_share share = tw_share_of(params->outer * params->inner);
  const int32_t offset = zero[0];
  const float factor = scale[0], *const end = y + share.end;
  x += share.first, y += share.first;
  /* Four at a time: a core's floating-point unit is shared, and its results are late. */
  for (const float *const last = end - 4; y <= last; x += 4, y += 4) {
    const int32_t x0 = x[0] - offset, x1 = x[1] - offset, x2 = x[2] - offset, x3 = x[3] - offset;
    const float f0 = (float)x0, f1 = (float)x1, f2 = (float)x2, f3 = (float)x3;
    y[0] = f0 * factor, y[1] = f1 * factor, y[2] = f2 * factor, y[3] = f3 * factor;
  }
  for (; y < end; x++, y++) *y = (float)(*x - offset) * factor;
}
