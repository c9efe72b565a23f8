/* y = clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point) in two sums of 32 bits; broadcast; all cores
 * together */
#include "qlinearadd_halves.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_halves_i16
#define TW_A int16_t
#define TW_B int16_t
#define TW_Y int16_t
#endif

#include "binary_rows.h"

static inline int32_t add(const tw_qlinearadd_halves_params *p, int32_t mask, int32_t a, int32_t b) {
  const int32_t lower = tw_x_mac(tw_x_mac(p->lower_offset, a, p->lower_a), b, p->lower_b);
  const int32_t sum = tw_x_mac(tw_x_mac(p->upper_offset, a, p->upper_a), b, p->upper_b) + (lower >> 16);
  int32_t value = sum >> p->shift;
  /* Nothing is left of what a tie is rounded up by. */
  if (!(sum & mask) && !(lower & 0xffff)) value -= (value ^ p->odd) & p->even;
  return tw_x_max(p->low, tw_x_min(value, p->high));
}

static __attribute__((noinline)) void one_row(const tw_qlinearadd_halves_params *params, const TW_A *a, int32_t step_a,
                                          const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  const tw_qlinearadd_halves_params p = *params;
  const int32_t mask = (1 << p.shift) - 1;
#define TW_ONE *y++ = (TW_Y)add(&p, mask, *a, *b), a += step_a, b += step_b
  for (; count >= 2; count -= 2) {
    TW_ONE;
    TW_ONE;
  }
  if (count > 0) TW_ONE;
#undef TW_ONE
}

void TW_NAME(const tw_qlinearadd_halves_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  TW_BINARY_ROWS(one_row, params, &params->loops, a, b, y);
}
