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

void TW_NAME(const tw_ternary_params *params, const uint8_t *c, const TW_A *a, const TW_A *b, TW_A *y) {
  const int32_t last = params->rank - 1, n = params->size[last];
  const int32_t step_c = params->stride_c[last], step_a = params->stride_a[last], step_b = params->stride_b[last];
  int32_t at[TW_MAX_RANK] = {0}, row_c = 0, row_a = 0, row_b = 0;
  do {
    if (step_c == 1 && step_a == 1 && step_b == 1) {
      TW_INDEPENDENT
      for (int32_t i = 0; i < n; i++) y[i] = c[row_c + i] ? a[row_a + i] : b[row_b + i];
    } else {
      TW_INDEPENDENT
      for (int32_t i = 0; i < n; i++) {
        y[i] = c[row_c + i * step_c] ? a[row_a + i * step_a] : b[row_b + i * step_b];
      }
    }
    y += n;
  } while (next_row(params, at, &row_c, &row_a, &row_b));
}
