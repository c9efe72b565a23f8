/* A few totals of one filter requantised: all that is the same for them is done before, and products of 64 bits are
 * looked at as two words. Needs TW_Y. What has no short way goes through tw_requantise. */
#ifndef TW_REQUANT_ROW_H
#define TW_REQUANT_ROW_H

#include "requant.h"

/* The two words of x * y. */
static inline int32_t tw_upper(int32_t x, int32_t y) { return (int32_t)(((int64_t)x * y) >> 32); }
static inline uint32_t tw_lower(int32_t x, int32_t y) { return (uint32_t)x * (uint32_t)y; }

static inline int32_t tw_within(int32_t value, int32_t low, int32_t high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

/* Shifts of more than 32 bits, nothing added: the lower word decides only where the upper one is halfway. */
static inline void tw_row_far(const tw_requant *r, int32_t mul, const int32_t *total, TW_Y *y, int32_t count) {
  const int32_t shift = r->shift - 32, half = 1 << (shift - 1), mask = (int32_t)((1u << shift) - 1);
  const int32_t zero = r->zero_point, low = r->low - zero, high = r->high - zero, rounding = r->rounding;
  for (int32_t i = 0; i < count; i++) {
    const int32_t sum = tw_upper(total[i], mul) + half;
    int32_t value = sum >> shift;
    if (tw_lower(total[i], mul) == 0 && (sum & mask) == 0) {
      value -= rounding == TW_HALF_EVEN ? value & 1 : rounding == TW_HALF_AWAY && value <= 0;
    }
    y[i] = (TW_Y)(tw_within(value, low, high) + zero);
  }
}

/* Shifts of 1 to 31 bits, ties up. */
static inline void tw_row_near(const tw_requant *r, int32_t mul, int32_t add, const int32_t *total, TW_Y *y,
                               int32_t count) {
  const int32_t shift = r->shift, zero = r->zero_point, low = r->low - zero, high = r->high - zero;
  const int64_t summand = (int64_t)add + (1 << (shift - 1));
  for (int32_t i = 0; i < count; i++) {
    const int64_t sum = (int64_t)total[i] * mul + summand;
    const int32_t upper = (int32_t)(sum >> 32), rest = upper >> (shift - 1);
    int32_t value = (int32_t)(((uint32_t)sum >> shift) | ((uint32_t)upper << (32 - shift)));
    /* Above the bits of a word nothing but its sign may be left. */
    if (rest != 0 && rest != -1) value = rest < 0 ? low : high;
    y[i] = (TW_Y)(tw_within(value, low, high) + zero);
  }
}

/* TensorFlow Lite's roundings in two steps, exponents up to 0: of the lower word, two bits round the first product. */
static inline void tw_row_double(const tw_requant *r, int32_t mul, int32_t exponent, const int32_t *total, TW_Y *y,
                                 int32_t count) {
  const int32_t right = -exponent, half = right > 0 ? 1 << (right - 1) : 0, away = right > 0 && r->rounding == TW_DOUBLE;
  const int32_t zero = r->zero_point, low = r->low - zero, high = r->high - zero;
  for (int32_t i = 0; i < count; i++) {
    const uint32_t rounding = ((tw_lower(total[i], mul) >> 30) + 1) >> 1;
    int32_t value = (int32_t)(((uint32_t)tw_upper(total[i], mul) << 1) + rounding);
    if (away) value += value >> 31;
    y[i] = (TW_Y)(tw_within((value + half) >> right, low, high) + zero);
  }
}

static inline void tw_requantise_row(const tw_requant *r, int32_t mul, int32_t add, const int32_t *total, TW_Y *y,
                                     int32_t count) {
  if (sizeof(TW_Y) == 4) {
    /* Bounds less the zero point may not fit. */
  } else if (TW_IS_TFLITE(r)) {
    if (r->rounding <= TW_DOUBLE_UP && add <= 0 && add > -31) {
      tw_row_double(r, mul, add, total, y, count);
      return;
    }
  } else if (r->rounding != TW_NATIVE && r->shift > 32 && r->shift < 63 && add == 0) {
    tw_row_far(r, mul, total, y, count);
    return;
  } else if (r->rounding == TW_HALF_UP && r->shift > 0 && r->shift < 32) {
    tw_row_near(r, mul, add, total, y, count);
    return;
  }
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)tw_requantise(r, total[i], mul, add);
}

#endif
