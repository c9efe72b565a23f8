/* y = c ? a : b, broadcast */
#include "alone.h"
#include "ternary.h"

/* The odometer over all loops but the innermost: moves the operands to the next row, returns 0 after the last. */
static inline int next_row(const tw_ternary_params *p, int32_t *at, int32_t *c, int32_t *a, int32_t *b) {
  for (int32_t axis = p->rank - 2; axis >= 0; axis--) {
    *c += p->stride_c[axis];
    *a += p->stride_a[axis];
    *b += p->stride_b[axis];
    if (++at[axis] < p->size[axis]) return 1;
    *c -= p->stride_c[axis] * p->size[axis];
    *a -= p->stride_a[axis] * p->size[axis];
    *b -= p->stride_b[axis] * p->size[axis];
    at[axis] = 0;
  }
  return 0;
}

/* Both values are read before the choice, which lets compilers vectorise it. */
static inline TW_A pick(uint8_t c, TW_A a, TW_A b) { return c ? a : b; }

void TW_NAME(const tw_ternary_params *params, const uint8_t *c_all, const TW_A *a_all, const TW_A *b_all, TW_A *y) {
  const int32_t last = params->rank - 1, n = params->size[last];
  const int32_t step_c = params->stride_c[last], step_a = params->stride_a[last], step_b = params->stride_b[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_c = 0, offset_a = 0, offset_b = 0;
  do {
    const uint8_t *c = c_all + offset_c;
    const TW_A *a = a_all + offset_a, *b = b_all + offset_b;
    if (step_c == 1 && step_a == 1 && step_b == 1) {
      TW_INDEPENDENT
      for (int32_t i = 0; i < n; i++) y[i] = pick(c[i], a[i], b[i]);
    } else if (step_c == 1 && step_a == 0 && step_b == 1) {
      const TW_A fixed = *a;
      TW_INDEPENDENT
      for (int32_t i = 0; i < n; i++) y[i] = pick(c[i], fixed, b[i]);
    } else if (step_c == 1 && step_a == 1 && step_b == 0) {
      const TW_A fixed = *b;
      TW_INDEPENDENT
      for (int32_t i = 0; i < n; i++) y[i] = pick(c[i], a[i], fixed);
    } else {
      for (int32_t i = 0; i < n; i++) y[i] = pick(c[i * step_c], a[i * step_a], b[i * step_b]);
    }
    y += n;
  } while (next_row(params, at, &offset_c, &offset_a, &offset_b));
}
