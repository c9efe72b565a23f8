/* y = out(first(a) + second(b)), each of the three a requantisation; broadcast */
#include "requantizedadd.h"

#include "int32.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"

static inline void add_row(const tw_requantizedadd_params *p, int32_t n, const TW_A *a, int32_t step_a, const TW_B *b,
                           int32_t step_b, TW_Y *y) {
  const tw_scaling first = p->first, second = p->second, out = p->out;
  TW_INDEPENDENT
  for (int32_t i = 0; i < n; i++) {
    const int32_t sum = tw_add32(tw_scale(&first, a[i * step_a]), tw_scale(&second, b[i * step_b]));
    y[i] = (TW_Y)tw_scale(&out, sum);
  }
}

void TW_NAME(const tw_requantizedadd_params *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y) {
  const tw_binary_params loops = params->loops;
  const int32_t last = loops.rank - 1, n = loops.size[last];
  const int32_t step_a = loops.stride_a[last], step_b = loops.stride_b[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  for (int32_t axis = 0; axis <= last; axis++) {
    if (loops.size[axis] == 0) return;
  }
  do {
    const TW_A *a = a_all + offset_a;
    const TW_B *b = b_all + offset_b;
    /* The same loop; known strides let compilers vectorise it. */
    if (step_a == 1 && step_b == 1) {
      add_row(params, n, a, 1, b, 1, y);
    } else {
      add_row(params, n, a, step_a, b, step_b, y);
    }
    y += n;
  } while (tw_binary_next_row(&loops, at, &offset_a, &offset_b));
}
