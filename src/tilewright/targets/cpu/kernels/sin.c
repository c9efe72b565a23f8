/* y = sin(x). x = n * pi + r with the nearest integer n: a polynomial of r, whose sign is that of n's parity. Some values
 * at a time: where one of them is so large that n * pi is not exact in three parts, the library computes all of these. */
#include <math.h>

#include "fast_exp.h"
#include "tw.h"
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_sin
#endif

enum { AT_A_TIME = 64 };
#define LARGEST 16384.0f

/* Errors are below 2e-7; values beyond LARGEST are not for it. */
static inline float small_sin(float x) {
  tw_float_bits shifted, result;
  shifted.value = x * 0.318309886f + 12582912.0f; /* adding 1.5 * 2^23 leaves n in the lowest bits */
  const float n = shifted.value - 12582912.0f;
  const float r = ((x - n * 3.140625f) - n * 9.67502594e-4f) - n * 1.50995799e-7f;
  const float square = r * r;
  const float series = -0.166666571f + square * (0.00833301729f + square * (-0.00019806615f + square * 2.60005431e-06f));
  result.value = r + r * square * series;
  result.bits ^= shifted.bits << 31;
  return result.value;
}

static int all_small(const float *x, int32_t count) {
  int beyond = 0;
  for (int32_t i = 0; i < count; i++) beyond |= !(fabsf(x[i]) <= LARGEST);
  return !beyond;
}

void TW_NAME(const tw_unary_params *params, const float *x, float *y) {
  for (int32_t first = 0; first < params->count; first += AT_A_TIME) {
    const int32_t end = tw_min(first + AT_A_TIME, params->count);
    if (all_small(x + first, end - first)) {
      TW_INDEPENDENT for (int32_t i = first; i < end; i++) y[i] = small_sin(x[i]);
    } else {
      for (int32_t i = first; i < end; i++) y[i] = sinf(x[i]);
    }
  }
}
