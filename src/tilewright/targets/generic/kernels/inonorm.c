/* y = ((x * w + b) * mul) >> shift, clamped to 8 bits; broadcast */
#include "inonorm.h"

#include "int32.h"

#ifndef TW_NAME
#define TW_NAME tw_inonorm_i8_i8_i16
#define TW_X int8_t
#define TW_W int8_t
#define TW_B int16_t
#endif

/* The odometer over all loops but the innermost: moves to the next row, returns 0 after the last. */
static inline int next_row(const tw_inonorm_params *p, int32_t *at, const TW_X **x, const TW_W **w, const TW_B **b) {
  for (int32_t axis = p->rank - 2; axis >= 0; axis--) {
    const int32_t back = ++at[axis] < p->size[axis] ? 0 : p->size[axis];
    *x += p->stride_x[axis] * (1 - back);
    *w += p->stride_w[axis] * (1 - back);
    *b += p->stride_b[axis] * (1 - back);
    if (back == 0) return 1;
    at[axis] = 0;
  }
  return 0;
}

void TW_NAME(const tw_inonorm_params *params, const TW_X *x, const TW_W *w, const TW_B *b, int8_t *y) {
  const int32_t last = params->rank - 1, n = params->size[last], mul = params->mul, shift = params->shift;
  const int32_t step_x = params->stride_x[last], step_w = params->stride_w[last], step_b = params->stride_b[last];
  int32_t at[TW_MAX_RANK] = {0};
  for (int32_t axis = 0; axis <= last; axis++) {
    if (params->size[axis] == 0) return;
  }
  do {
    TW_INDEPENDENT
    for (int32_t i = 0; i < n; i++) {
      const int32_t sum = tw_add32(tw_mul32(x[i * step_x], w[i * step_w]), b[i * step_b]);
      y[i] = (int8_t)tw_clamp(tw_mul32(sum, mul) >> shift, -128, 127);
    }
    y += n;
  } while (next_row(params, at, &x, &w, &b));
}
