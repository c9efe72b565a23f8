/* y = factor * a / (eta * b + eps), rounded; broadcast */
#include "integerdiv.h"

#include "rounded_division.h"

#ifndef TW_NAME
#define TW_NAME tw_integerdiv_i32_i32_i32
#define TW_A int32_t
#define TW_B int32_t
#define TW_Y int32_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"

void TW_NAME(const tw_integerdiv_params *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y) {
  const tw_binary_params loops = params->loops;
  const uint64_t factor = (uint64_t)params->factor, eta = (uint64_t)params->eta, eps = (uint64_t)params->eps;
  const int32_t last = loops.rank - 1, n = loops.size[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  for (int32_t axis = 0; axis <= last; axis++) {
    if (loops.size[axis] == 0) return;
  }
  do {
    const TW_A *a = a_all + offset_a;
    const TW_B *b = b_all + offset_b;
    for (int32_t i = 0; i < n; i++) {
      const int64_t numerator = (int64_t)(factor * (uint64_t)a[i * loops.stride_a[last]]);
      const int64_t denominator = (int64_t)(eta * (uint64_t)b[i * loops.stride_b[last]] + eps);
      y[i] = tw_divide_rounded(numerator, denominator);
    }
    y += n;
  } while (tw_binary_next_row(&loops, at, &offset_a, &offset_b));
}
