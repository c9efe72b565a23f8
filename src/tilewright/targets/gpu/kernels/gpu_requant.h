/* Requantisation of four sums side by side. TensorFlow Lite's kind of rounding is asked once, and is a constant in what
 * follows. */
#ifndef TW_GPU_REQUANT_H
#define TW_GPU_REQUANT_H

#include "gpu_unroll.h"
#include "requant.h"

#define TW_REQUANTISE_FOUR(KIND)                                                                     \
  case KIND: {                                                                                       \
    known.rounding = KIND;                                                                           \
    TW_UNROLL for (int32_t i = 0; i < 4; i++) sums[i] = tw_requantise(&known, sums[i], mul[i], add[i]); \
  } break;

/* As tw_narrow does, without asking how ties are rounded: that would be code for each kind. */
TW_GPU void tw_narrow_four(const tw_requant *r, int32_t *sums, const int32_t *mul, const int32_t *add) {
  const int32_t shift = r->shift;
  const int32_t to_even = shift > 0 && r->rounding == TW_HALF_EVEN, away = shift > 0 && r->rounding == TW_HALF_AWAY;
  const int64_t half = shift > 0 ? (int64_t)1 << (shift - 1) : 0;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    const int64_t wide = (int64_t)sums[i] * mul[i] + add[i];
    const int32_t less = (to_even & ~(int32_t)(wide >> shift)) | (away & (wide < 0));
    const int64_t value = ((wide + half - less) >> shift) + r->zero_point;
    sums[i] = (int32_t)(value < r->low ? r->low : value > r->high ? r->high : value);
  }
}

/* The same where 33 bits or more are cut off: words are left. */
TW_GPU void tw_narrow_four_to_words(const tw_requant *r, int32_t *sums, const int32_t *mul, const int32_t *add) {
  const int32_t shift = r->shift - 32, half = 1 << (shift - 1);
  const int32_t to_even = r->rounding == TW_HALF_EVEN, away = r->rounding == TW_HALF_AWAY;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    const int64_t wide = (int64_t)sums[i] * mul[i] + add[i];
    const int32_t high = (int32_t)(wide >> 32);
    const int32_t less = (to_even & ~(high >> shift)) | (away & (high < 0));
    const int32_t borrowed = less & ((uint32_t)wide == 0);
    const int32_t value = ((high + half - borrowed) >> shift) + r->zero_point;
    sums[i] = value < r->low ? r->low : value > r->high ? r->high : value;
  }
}

TW_GPU void tw_requantise_four(const tw_requant *r, int32_t *sums, const int32_t *mul, const int32_t *add) {
  tw_requant known = *r;
  if (!TW_IS_TFLITE(r)) {
    if (r->shift > 32) {
      tw_narrow_four_to_words(r, sums, mul, add);
    } else {
      tw_narrow_four(r, sums, mul, add);
    }
    return;
  }
  switch (r->rounding) {
    TW_REQUANTISE_FOUR(TW_DOUBLE)
    TW_REQUANTISE_FOUR(TW_DOUBLE_UP)
    TW_REQUANTISE_FOUR(TW_SINGLE)
    TW_REQUANTISE_FOUR(TW_FLOAT)
  }
}

#endif
