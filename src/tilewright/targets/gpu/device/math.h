/* What <math.h> has, for code that runs on a GPU, where there is no C library. Functions of floats are computed in
 * double, so that one rounding is left: results are within one unit of the last place. */
#ifndef TW_DEVICE_MATH_H
#define TW_DEVICE_MATH_H

#include <stdint.h>

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define isnan(x) ((x) != (x))
#define isinf(x) (__builtin_fabs((double)(x)) == __builtin_inf())
#define TW_DEVICE static inline __attribute__((unused))

TW_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
TW_DEVICE double fabs(double x) { return __builtin_fabs(x); }
TW_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
TW_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
TW_DEVICE float floorf(float x) { return __builtin_floorf(x); }
TW_DEVICE double floor(double x) { return __builtin_floor(x); }
TW_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
TW_DEVICE double ceil(double x) { return __builtin_ceil(x); }
TW_DEVICE float truncf(float x) { return __builtin_truncf(x); }
TW_DEVICE double trunc(double x) { return __builtin_trunc(x); }
TW_DEVICE float rintf(float x) { return __builtin_rintf(x); }
TW_DEVICE double rint(double x) { return __builtin_rint(x); }
TW_DEVICE float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
TW_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TW_DEVICE float fmaxf(float a, float b) { return a > b || isnan(b) ? a : b; }
TW_DEVICE float fminf(float a, float b) { return a < b || isnan(b) ? a : b; }

/* Halves go away from zero. */
TW_DEVICE float roundf(float x) {
  const float whole = truncf(x);
  return copysignf(fabsf(x - whole) >= 0.5f ? fabsf(whole) + 1.0f : fabsf(whole), x);
}

/* A number and its bits. */
typedef union {
  double value;
  uint64_t bits;
} tw_double_bits;

/* x * 2^n, of an n that leaves it a normal number. */
TW_DEVICE double tw_times_power(double x, int32_t n) {
  tw_double_bits power;
  power.bits = (uint64_t)(n + 1023) << 52;
  return x * power.value;
}

/* e^x = 2^n * e^r with the integer n nearest to x / ln 2, and a Taylor series for |r| < 0.35. */
TW_DEVICE double tw_exp_of(double x) {
  const double n = rint(x * 1.4426950408889634);
  const double r = __builtin_fma(n, -1.9082149292705877e-10, __builtin_fma(n, -0.6931471803691238, x));
  double series = 1.0;
  for (int32_t k = 13; k > 0; k--) series = 1.0 + series * r / k;
  return tw_times_power(series, (int32_t)n);
}

TW_DEVICE double exp(double x) {
  if (isnan(x)) return x;
  return x > 709.0 ? __builtin_inf() : x < -708.0 ? 0.0 : tw_exp_of(x);
}

TW_DEVICE float expf(float x) {
  if (isnan(x)) return x;
  return x > 89.0f ? INFINITY : x < -104.0f ? 0.0f : (float)tw_exp_of((double)x);
}

/* e^x - 1: near 0, where that would lose its digits, the rest of the series. */
TW_DEVICE double tw_expm1_of(double x) {
  double series = 1.0;
  if (fabs(x) > 0.3) return tw_exp_of(x) - 1.0;
  for (int32_t k = 14; k > 1; k--) series = 1.0 + series * x / k;
  return x * series;
}

TW_DEVICE float expm1f(float x) {
  if (isnan(x)) return x;
  return x > 89.0f ? INFINITY : x < -40.0f ? -1.0f : (float)tw_expm1_of((double)x);
}

/* log x = n log 2 + 2 atanh((m - 1) / (m + 1)), with m between sqrt(1/2) and sqrt(2). */
TW_DEVICE double tw_log_of(double x) {
  tw_double_bits part;
  part.value = x;
  int32_t n = (int32_t)(part.bits >> 52) - 1023;
  part.bits = (part.bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  if (part.value > 1.4142135623730951) {
    part.value *= 0.5;
    n++;
  }
  const double s = (part.value - 1.0) / (part.value + 1.0), square = s * s;
  double series = 0.0;
  for (int32_t k = 21; k > 0; k -= 2) series = 1.0 / k + square * series;
  return n * 0.6931471805599453 + 2.0 * s * series;
}

TW_DEVICE double log(double x) {
  if (isnan(x) || x < 0.0) return __builtin_nan("");
  if (x == 0.0) return -__builtin_inf();
  return isinf(x) ? x : x < 2.3e-308 ? tw_log_of(x * 18014398509481984.0) - 37.42994775023705 : tw_log_of(x);
}

TW_DEVICE float logf(float x) { return (float)log((double)x); }

/* log(1 + x) in double: what rounding 1 + x loses is given back. */
TW_DEVICE float log1pf(float x) {
  const double more = (double)x, sum = 1.0 + more;
  if (!(sum > 0.0) || isinf(x)) return (float)log(sum);
  return (float)(tw_log_of(sum) + (more - (sum - 1.0)) / sum);
}

TW_DEVICE double fmod(double x, double y) {
  if (isnan(x) || isnan(y) || isinf(x) || y == 0.0) return __builtin_nan("");
  if (isinf(y)) return x;
  double rest = fabs(x);
  const double size = fabs(y);
  while (rest >= size) {
    /* The largest multiple by a power of two that is not above: its difference is exact. */
    tw_double_bits left, right;
    left.value = rest;
    right.value = size;
    const int32_t apart = (int32_t)(left.bits >> 52) - (int32_t)(right.bits >> 52);
    double part = tw_times_power(size, apart > 1000 ? 1000 : apart);
    if (part > rest) part *= 0.5;
    rest -= part;
  }
  return __builtin_copysign(rest, x);
}

TW_DEVICE float fmodf(float x, float y) { return (float)fmod((double)x, (double)y); }

/* x^y, where x is not negative. Few products are exact as long as 53 bits hold the result. */
TW_DEVICE double tw_power_of(double x, double y) {
  if (x == 0.0) return y > 0.0 ? 0.0 : __builtin_inf();
  if (y < 0.0 || y > 64.0 || trunc(y) != y) return exp(y * log(x));
  double result = 1.0, square = x;
  for (uint32_t left = (uint32_t)y; left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return result;
}

TW_DEVICE double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (isnan(x) || isnan(y)) return __builtin_nan("");
  if (isinf(y)) {
    const double size = fabs(x);
    return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
  }
  const int is_whole = trunc(y) == y, is_odd = is_whole && fabs(fmod(y, 2.0)) == 1.0;
  tw_double_bits sign;
  sign.value = x;
  if (x < 0.0 && !is_whole && !isinf(x)) return __builtin_nan("");
  const double size = tw_power_of(fabs(x), y);
  return sign.bits >> 63 && is_odd ? -size : size;
}

TW_DEVICE float powf(float x, float y) { return (float)pow((double)x, (double)y); }

TW_DEVICE float sinhf(float x) {
  const float size = fabsf(x);
  if (isnan(x) || size > 90.0f) return x * INFINITY;
  const double more = tw_expm1_of((double)size);
  return copysignf((float)(0.5 * (more + more / (more + 1.0))), x);
}

TW_DEVICE float coshf(float x) {
  if (isnan(x) || fabsf(x) > 90.0f) return x * x * INFINITY;
  const double power = tw_exp_of((double)x);
  return (float)(0.5 * (power + 1.0 / power));
}

TW_DEVICE float tanhf(float x) {
  if (isnan(x)) return x;
  if (fabsf(x) > 20.0f) return copysignf(1.0f, x);
  const double more = tw_expm1_of(2.0 * (double)x);
  return (float)(more / (more + 2.0));
}

TW_DEVICE float asinhf(float x) {
  const double size = fabs((double)x);
  if (isnan(x) || isinf(x)) return x;
  const double more = size + size * size / (1.0 + sqrt(size * size + 1.0)), sum = 1.0 + more;
  return copysignf((float)(tw_log_of(sum) + (more - (sum - 1.0)) / sum), x);
}

TW_DEVICE float acoshf(float x) {
  const double value = (double)x, more = value - 1.0;
  if (!(x >= 1.0f)) return NAN;
  if (isinf(x)) return x;
  const double rest = more + sqrt(more * (value + 1.0)), sum = 1.0 + rest;
  return (float)(tw_log_of(sum) + (rest - (sum - 1.0)) / sum);
}

TW_DEVICE float atanhf(float x) {
  const double value = (double)x;
  if (isnan(x) || fabsf(x) > 1.0f) return NAN;
  if (fabsf(x) == 1.0f) return x * INFINITY;
  const double more = 2.0 * value / (1.0 - value), sum = 1.0 + more;
  return (float)(0.5 * (tw_log_of(sum) + (more - (sum - 1.0)) / sum));
}

/* sin and cos of |x| <= pi / 4. */
TW_DEVICE double tw_sin_near(double x) {
  double series = 0.0;
  for (int32_t k = 17; k > 1; k -= 2) series = -x * x * (1.0 + series) / (k * (k - 1));
  return x * (1.0 + series);
}

TW_DEVICE double tw_cos_near(double x) {
  double series = 0.0;
  for (int32_t k = 18; k > 1; k -= 2) series = -x * x * (1.0 + series) / (k * (k - 1));
  return 1.0 + series;
}

/* What is left of x beside the nearest multiple of pi / 2, and which one that is, modulo 4. Huge floats are whole
 * numbers times a power of two: their rest is taken bit by bit of 2 / pi. */
TW_DEVICE double tw_quarter(float x, int32_t *quarter) {
  if (fabsf(x) < 1.0e5f) {
    const double n = rint((double)x * 0.6366197723675814);
    *quarter = (int32_t)n & 3;
    return __builtin_fma(n, -6.123233995736766e-17, __builtin_fma(n, -1.5707963267948966, (double)x));
  }
  /* 2 / pi to 192 bits. */
  static const uint32_t bits[] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u};
  union {
    float value;
    uint32_t bits;
  } part;
  part.value = fabsf(x);
  const int32_t power = (int32_t)(part.bits >> 23) - 150; /* x = mantissa * 2^power */
  const uint64_t mantissa = (part.bits & 0x7fffffu) | 0x800000u;
  /* Bits of mantissa * 2 / pi * 2^power from 2^1 down to 2^-62: those further up are multiples of 4. */
  uint64_t total = 0;
  for (int32_t word = 0; word < 6; word++) {
    const int32_t shift = power - 32 * (word + 1) + 62; /* of the product's lowest bit, above 2^-62 */
    const uint64_t product = mantissa * bits[word];
    if (shift >= 64 || shift <= -64) continue;
    total += shift >= 0 ? product << shift : product >> -shift;
  }
  const uint64_t rounded = total + ((uint64_t)1 << 61);
  *quarter = (int32_t)(rounded >> 62);
  const int64_t left = (int64_t)(total - ((uint64_t)*quarter << 62));
  const double rest = (double)left * 2.168404344971009e-19 * 1.5707963267948966;
  if (x < 0.0f) *quarter = -*quarter & 3;
  return x < 0.0f ? -rest : rest;
}

TW_DEVICE float sinf(float x) {
  int32_t quarter;
  if (isnan(x) || isinf(x)) return NAN;
  const double rest = tw_quarter(x, &quarter), found = quarter & 1 ? tw_cos_near(rest) : tw_sin_near(rest);
  return (float)(quarter & 2 ? -found : found);
}

TW_DEVICE float cosf(float x) {
  int32_t quarter;
  if (isnan(x) || isinf(x)) return NAN;
  const double rest = tw_quarter(x, &quarter), found = quarter & 1 ? tw_sin_near(rest) : tw_cos_near(rest);
  return (float)((quarter + 1) & 2 ? -found : found);
}

TW_DEVICE float tanf(float x) {
  int32_t quarter;
  if (isnan(x) || isinf(x)) return NAN;
  const double rest = tw_quarter(x, &quarter), sine = tw_sin_near(rest), cosine = tw_cos_near(rest);
  return (float)(quarter & 1 ? -cosine / sine : sine / cosine);
}

/* atan x, halved twice to where a short series is enough. */
TW_DEVICE double tw_atan_of(double x) {
  const double size = fabs(x), turned = size > 1.0 ? 1.0 / size : size;
  const double half = turned / (1.0 + sqrt(1.0 + turned * turned)), quarter = half / (1.0 + sqrt(1.0 + half * half));
  double series = 0.0;
  for (int32_t k = 27; k > 0; k -= 2) series = 1.0 / k - quarter * quarter * series;
  const double found = 4.0 * quarter * series;
  return __builtin_copysign(size > 1.0 ? 1.5707963267948966 - found : found, x);
}

TW_DEVICE float atanf(float x) {
  if (isnan(x)) return x;
  return isinf(x) ? copysignf(1.57079633f, x) : (float)tw_atan_of((double)x);
}

TW_DEVICE float asinf(float x) {
  const double value = (double)x;
  if (!(fabsf(x) <= 1.0f)) return NAN;
  return fabsf(x) == 1.0f ? copysignf(1.57079633f, x) : (float)tw_atan_of(value / sqrt((1.0 - value) * (1.0 + value)));
}

TW_DEVICE float acosf(float x) {
  const double value = (double)x;
  if (!(fabsf(x) <= 1.0f)) return NAN;
  if (x == -1.0f) return 3.14159265f;
  return (float)(2.0 * tw_atan_of(sqrt((1.0 - value) / (1.0 + value))));
}

/* The error function: its series around 0, and further out what a continued fraction leaves of 1. */
TW_DEVICE double tw_erf_of(double x) {
  const double size = fabs(x), square = size * size;
  if (size > 6.0) return __builtin_copysign(1.0, x);
  if (size < 2.5) {
    double term = size, sum = size;
    for (int32_t k = 1; k < 48; k++) {
      term *= -square / k;
      sum += term / (2 * k + 1);
    }
    return __builtin_copysign(1.1283791670955126 * sum, x);
  }
  double fraction = 0.0;
  for (int32_t k = 40; k > 0; k--) fraction = 0.5 * k / (size + fraction);
  return __builtin_copysign(1.0 - tw_exp_of(-square) * 0.5641895835477563 / (size + fraction), x);
}

TW_DEVICE float erff(float x) { return isnan(x) ? x : (float)tw_erf_of((double)x); }

#endif
