/* Rows of bytes divided by their length, as TensorFlow Lite has it: y = x / sqrt(sum(x * x)), with 7 fractional bits. */
#include "tflitel2norm.h"

#include "requant.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_tflitel2norm
#endif

/* A fraction of 31 bits times 2^power. */
typedef struct {
  int32_t mul, power;
} scale;

static int32_t raised(int32_t x, int32_t bits) {
  const int64_t wide = (int64_t)x * ((int64_t)1 << bits);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 1 / sqrt(value) of a value from 1 to 2^29: five steps of Newton's, three integer bits. */
static scale inverse_root(int32_t value) {
  if (value <= 1) return (scale){INT32_MAX, 0};
  int32_t bits = 0;
  while (value >> bits) bits++;
  const int32_t pairs = (31 - bits) / 2 - 1, half = tw_divided((value << (2 * pairs)) >> 1, 1, 0);
  int32_t x = 1 << 28;
  for (int32_t i = 0; i < 5; i++) {
    const int32_t cube = raised(tw_high_product(tw_high_product(x, x), x), 6);
    x = raised(tw_high_product(x, 3 << 27) - tw_high_product(half, cube), 3);
  }
  return (scale){tw_high_product(x, 1518500250), pairs - 11};
}

static void normalise(const tw_tflitel2norm_params *p, const int8_t *x, int8_t *y) {
  int32_t squares = 0;
  for (int32_t i = 0; i < p->length; i++) squares += (x[i] - p->x_zero) * (x[i] - p->x_zero);
  const scale inverse = inverse_root(squares);
  const int32_t power = inverse.power + 7, left = tw_max(power, 0), right = tw_max(-power, 0);
  for (int32_t i = 0; i < p->length; i++) {
    const int32_t high = tw_high_product((x[i] - p->x_zero) * (1 << left), inverse.mul);
    y[i] = (int8_t)tw_max(tw_min(tw_divided(high, right, 0), 127), -128);
  }
}

void TW_NAME(const tw_tflitel2norm_params *params, const int8_t *x, int8_t *y) {
  const tw_tflitel2norm_params p = *params;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) normalise(&p, x, y);
}
