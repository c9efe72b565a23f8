/* Softmax of rows of 16-bit integers as TensorFlow Lite has it: y = e / sum(e), where e = exps[x - max(x)], scaled. */
#include "tflitesoftmax16.h"

#include "requant.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_tflitesoftmax16
#endif

static int32_t limited(int32_t value) { return value < INT16_MIN ? INT16_MIN : tw_min(value, INT16_MAX); }

/* A table's value at a 16-bit position, linear between entries. */
static int32_t found(const int16_t *table, int32_t position) {
  const int16_t *values = table + 256 + (position >> 7);
  return values[0] + (((values[1] - values[0]) * (position & 127) + 64) >> 7);
}

/* y becomes the exponentials; their sum. */
static int32_t raise(const tw_tflitesoftmax16_params *p, const int16_t *x, const int16_t *exps, int16_t *y) {
  const tw_requant unit = {.rounding = p->rounding, .zero_point = INT16_MAX, .low = INT16_MIN, .high = INT16_MAX};
  int32_t largest = x[0], total = 0;
  for (int32_t i = 1; i < p->length; i++) largest = tw_max(largest, x[i]);
  for (int32_t i = 0; i < p->length; i++) {
    y[i] = (int16_t)found(exps, tw_requantise_scaled(&unit, x[i] - largest, p->mul, p->exponent));
    total += y[i];
  }
  return total;
}

void TW_NAME(const tw_tflitesoftmax16_params *params, const int16_t *x, const int16_t *exps, const int16_t *shares,
             int16_t *y) {
  const tw_tflitesoftmax16_params p = *params;
  if (p.length == 0) return;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) {
    const int32_t total = raise(&p, x, exps, y);
    int32_t bits = 0;
    while (total >> bits > 1) bits++;
    /* The sum as 1 + a fraction, whose reciprocal is in the table. */
    const int32_t mantissa = (int32_t)((((int64_t)total << (30 - bits)) + (1 << 13)) >> 14);
    const int32_t share = found(shares, limited(mantissa - (1 << 15) - (1 << 16)));
    for (int32_t i = 0; i < p.length; i++) {
      y[i] = (int16_t)tw_max(0, limited((int32_t)((y[i] * (int64_t)share + ((int64_t)1 << (bits - 1))) >> bits)));
    }
  }
}
