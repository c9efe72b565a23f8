/* y = clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point), where 32 bits hold the sum; broadcast, four
 * at a time. */
#include "qlinearadd.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_rows
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"
#include "full_range.h"

/* What is the same for all sums: half a unit is part of the offset. */
typedef struct {
  int32_t mul_a, mul_b, offset, shift, zero, low, high;
} sums;

TW_ALWAYS TW_Y one(const sums *s, int ties_to_even, int is_full, int32_t a, int32_t b) {
  int32_t sum = a * s->mul_a + b * s->mul_b + s->offset;
  if (ties_to_even) sum -= ~((sum - (1 << (s->shift - 1))) >> s->shift) & 1;
  const int32_t value = (sum >> s->shift) + s->zero;
  return is_full ? tw_to_byte(value) : (TW_Y)tw_clamp(value, s->low, s->high);
}

TW_ALWAYS void row_by(const sums *all, int ties_to_even, int is_full, const TW_A *a, int32_t step_a, const TW_B *b,
                      int32_t step_b, TW_Y *y, int32_t count) {
  const sums s = *all;
  if (step_a == 1 && step_b == 1) {
    for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
      const TW_A a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
      const TW_B b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
      const TW_Y y0 = one(&s, ties_to_even, is_full, a0, b0), y1 = one(&s, ties_to_even, is_full, a1, b1);
      const TW_Y y2 = one(&s, ties_to_even, is_full, a2, b2), y3 = one(&s, ties_to_even, is_full, a3, b3);
      y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
    }
  }
  for (; count > 0; count--, a += step_a, b += step_b) *y++ = one(&s, ties_to_even, is_full, *a, *b);
}

static __attribute__((noinline)) void row_up(const sums *s, const TW_A *a, int32_t step_a, const TW_B *b,
                                             int32_t step_b, TW_Y *y, int32_t count) {
  row_by(s, 0, 1, a, step_a, b, step_b, y, count);
}

static __attribute__((noinline)) void row_any(const sums *s, int ties_to_even, const TW_A *a, int32_t step_a,
                                              const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  if (ties_to_even) {
    row_by(s, 1, 0, a, step_a, b, step_b, y, count);
  } else {
    row_by(s, 0, 0, a, step_a, b, step_b, y, count);
  }
}

void TW_NAME(const tw_qlinearadd_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_binary_params *const loops = &params->loops;
  const tw_requant *const r = &params->requant;
  const int32_t half = r->shift > 0 ? 1 << (r->shift - 1) : 0;
  const int ties_to_even = r->rounding == TW_HALF_EVEN && r->shift > 0, is_up = !ties_to_even && tw_is_full_range(r);
  const sums s = {params->mul_a, params->mul_b, (int32_t)params->offset + half, r->shift, r->zero_point, r->low, r->high};
  const int32_t last = loops->rank - 1, count = loops->size[last];
  const int32_t step_a = loops->stride_a[last], step_b = loops->stride_b[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  if (count == 0) return;
  do {
    if (is_up) {
      row_up(&s, a + offset_a, step_a, b + offset_b, step_b, y, count);
    } else {
      row_any(&s, ties_to_even, a + offset_a, step_a, b + offset_b, step_b, y, count);
    }
    y += count;
  } while (tw_binary_next_row(loops, at, &offset_a, &offset_b));
}
