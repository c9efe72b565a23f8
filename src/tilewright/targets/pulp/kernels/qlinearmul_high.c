/* y = out((a - a_zero) * (b - b_zero)), by the upper words of products; broadcast; all cores together */
#include "qlinearmul_high.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_high_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "binary_rows.h"

static __attribute__((noinline)) void one_row(const tw_qlinearmul_high_params *p, const TW_A *a, int32_t step_a,
                                              const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  const tw_high_word out = p->out;
  const int32_t a_zero = p->a_zero, b_zero = p->b_zero, a_on = step_a * (int32_t)sizeof(TW_A);
  const int32_t b_on = step_b * (int32_t)sizeof(TW_B);
#define TW_ONE                                                                                \
  do {                                                                                        \
    const int32_t left = TW_NEXT(TW_A, a, a_on) - a_zero;                                     \
    const int32_t value = tw_by_high_word(&out, left * (TW_NEXT(TW_B, b, b_on) - b_zero));    \
    TW_STORE_NEXT(TW_Y, y, TW_CLIP_TO(TW_Y, value), sizeof(TW_Y));                            \
  } while (0)
  for (; count >= 2; count -= 2) {
    TW_ONE;
    TW_ONE;
  }
  if (count > 0) TW_ONE;
#undef TW_ONE
}

void TW_NAME(const tw_qlinearmul_high_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  TW_BINARY_ROWS(one_row, params, &params->loops, a, b, y);
}
