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
#include "high_word.h"

static inline int32_t add(const tw_qlinearadd_halves_params *p, int32_t a, int32_t b) {
  const int32_t lower = tw_x_mac(tw_x_mac(p->lower_offset, a, p->lower_a), b, p->lower_b);
  const int32_t sum = tw_x_mac(tw_x_mac(p->upper_offset, a, p->upper_a), b, p->upper_b) + (lower >> 16);
  int32_t value = sum >> p->shift;
  if (TW_COLD(!(sum & p->mask))) {
    if (!(lower & 0xffff)) value -= tw_tie_excess(value, p->odd);
  }
  return TW_CLIP_TO(TW_Y, value);
}

static __attribute__((noinline)) void one_row(const tw_qlinearadd_halves_params *params, const TW_A *a, int32_t step_a,
                                              const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  const tw_qlinearadd_halves_params p = *params;
  const int32_t a_on = step_a * (int32_t)sizeof(TW_A), b_on = step_b * (int32_t)sizeof(TW_B);
#define TW_ONE                                                                  \
  do {                                                                          \
    const int32_t left = TW_NEXT(TW_A, a, a_on);                                \
    const int32_t right = TW_NEXT(TW_B, b, b_on);                               \
    TW_STORE_NEXT(TW_Y, y, add(&p, left, right), sizeof(TW_Y));                 \
  } while (0)
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
