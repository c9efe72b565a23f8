/* y = clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point), broadcast; a loop for each rounding */
#include "qlinearadd.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_wide
#define TW_A int32_t
#define TW_B int8_t
#define TW_Y int32_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"
#include "requant_loops.h"

/* Sums of bytes fit 32 bits. */
static inline TW_Y add_narrow(const tw_qlinearadd_params *p, int32_t rounding, int32_t shift, TW_A a, TW_B b) {
  const int32_t sum = (int32_t)a * p->mul_a + (int32_t)b * p->mul_b + (int32_t)p->offset;
  return (TW_Y)tw_clamp(tw_shifted32(sum, shift, rounding) + p->requant.zero_point, p->requant.low, p->requant.high);
}

static inline TW_Y add_wide(const tw_qlinearadd_params *p, int32_t rounding, int32_t shift, TW_A a, TW_B b) {
  const int64_t sum = (int64_t)(int32_t)a * p->mul_a + (int64_t)(int32_t)b * p->mul_b + p->offset;
  return (TW_Y)tw_limited64(tw_shifted64(sum, shift, rounding) + p->requant.zero_point, p->requant.low, p->requant.high);
}

#define TW_ADD_ONE(rounding, a, b) \
  (sizeof(TW_A) == 1 && sizeof(TW_B) == 1 ? add_narrow(p, rounding, shift, a, b) : add_wide(p, rounding, shift, a, b))

/* A row whose operands are neighbours, or one for all. */
static inline void add_row(const tw_qlinearadd_params *all, int32_t rounding, int32_t n, const TW_A *a, int32_t step_a,
                           const TW_B *b, int32_t step_b, TW_Y *y) {
  const tw_qlinearadd_params own = *all, *const p = &own;
  const int32_t shift = own.requant.shift;
  TW_INDEPENDENT
  for (int32_t i = 0; i < n; i++) y[i] = TW_ADD_ONE(rounding, a[i * step_a], b[i * step_b]);
}

static void add_any_row(const tw_qlinearadd_params *p, int32_t n, const TW_A *a, int32_t step_a, const TW_B *b,
                        int32_t step_b, TW_Y *y) {
  if (p->requant.rounding == TW_HALF_EVEN && step_a == 1 && step_b == 1) {
    add_row(p, TW_HALF_EVEN, n, a, 1, b, 1, y);
  } else if (p->requant.rounding == TW_HALF_UP && step_a == 1 && step_b == 1) {
    add_row(p, TW_HALF_UP, n, a, 1, b, 1, y);
  } else {
    add_row(p, p->requant.rounding, n, a, step_a, b, step_b, y);
  }
}

void TW_NAME(const tw_qlinearadd_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_binary_params loops = params->loops;
  const int32_t last = loops.rank - 1, n = loops.size[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  for (int32_t axis = 0; axis <= last; axis++) {
    if (loops.size[axis] == 0) return;
  }
  do {
    add_any_row(params, n, a + offset_a, loops.stride_a[last], b + offset_b, loops.stride_b[last], y);
    y += n;
  } while (tw_binary_next_row(&loops, at, &offset_a, &offset_b));
}
