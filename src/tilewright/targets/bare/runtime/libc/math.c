/* Functions that the compiler's library lacks. They compute in double precision; float results are correctly rounded except
 * in rare cases. */
#include "math.h"

#include <stdint.h>

#define PI 3.14159265358979323846

/* For smaller numbers, adding 1 loses too many bits in double precision. */
#define TINY 1e-9

static double magnitude(double x) { return x < 0 ? -x : x; }

float rintf(float x) {
  const float all_integers = 8388608.0f; /* 2^23: there are no fractions from here on */
  if (!(fabsf(x) < all_integers)) return x;
  volatile float shifted = fabsf(x) + all_integers;
  shifted -= all_integers;
  return copysignf(shifted, x);
}

float expm1f(float x) { return magnitude(x) < TINY ? x : (float)(exp((double)x) - 1.0); }

float log1pf(float x) { return magnitude(x) < TINY ? x : (float)log(1.0 + (double)x); }

static int is_integer(double y) { return floor(y) == y; }
static int is_odd(double y) { return is_integer(y) && floor(y / 2) * 2 != y; }

/* By products: exact as long as 53 bits hold the result, which exp(y * log(x)) is not. */
static __attribute__((noinline)) double whole_power(double x, uint32_t y) {
  double result = 1, square = x;
  for (; y != 0; y >>= 1) {
    if (y & 1) result *= square;
    square *= square;
  }
  return result;
}

static const double most_products = 64; /* more of them lose more bits than a logarithm does */

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return x + y;
  const int odd = is_odd(y);
  if (x < 0 && !is_integer(y) && !isinf(x)) return (double)NAN;
  if (is_integer(y) && y > 0 && y <= most_products) return whole_power(x, (uint32_t)y);
  if (isinf(y)) {
    if (magnitude(x) == 1) return 1;
    return (magnitude(x) > 1) == (y > 0) ? (double)INFINITY : 0;
  }
  const double size = x == 0 ? (y > 0 ? 0 : (double)INFINITY) : exp(y * log(magnitude(x)));
  return odd && signbit(x) ? -size : size;
}

float powf(float x, float y) { return (float)pow((double)x, (double)y); }

double tanh(double x) {
  const double size = magnitude(x);
  if (size < 1e-3) return x - x * x * x / 3;
  if (size > 20) return x < 0 ? -1 : 1;
  const double result = 1 - 2 / (exp(2 * size) + 1);
  return x < 0 ? -result : result;
}

float tanhf(float x) { return isnan(x) ? x : (float)tanh((double)x); }

float sinhf(float x) {
  if (magnitude(x) < 1e-3) return x + x * x * x / 6;
  const double e = exp((double)x);
  return (float)((e - 1 / e) / 2);
}

float coshf(float x) {
  const double e = exp((double)x);
  return (float)((e + 1 / e) / 2);
}

/* The series converges fast: the argument is at most tan(pi / 16). */
static double small_atan(double x) {
  double power = x, sum = x;
  for (int n = 3; n < 50; n += 2) {
    power *= -x * x;
    sum += power / n;
  }
  return sum;
}

static double atan_to_1(double x) {
  const double eighth = 0.41421356237309503; /* tan(pi / 8) */
  return x > eighth ? PI / 4 + small_atan((x - 1) / (x + 1)) : small_atan(x);
}

static double positive_atan(double x) { return x > 1 ? PI / 2 - atan_to_1(1 / x) : atan_to_1(x); }
static double any_atan(double x) { return x < 0 ? -positive_atan(-x) : positive_atan(x); }

float atanf(float x) { return isnan(x) ? x : (float)any_atan((double)x); }

static double any_asin(double x) {
  if (magnitude(x) > 1) return (double)NAN;
  if (magnitude(x) == 1) return x * PI / 2;
  return any_atan(x / sqrt((1 - x) * (1 + x)));
}

float asinf(float x) { return isnan(x) ? x : (float)any_asin((double)x); }
float acosf(float x) { return isnan(x) ? x : (float)(PI / 2 - any_asin((double)x)); }

float asinhf(float x) {
  const double size = magnitude(x);
  if (size < 1e-3) return x - x * x * x / 6;
  const double result = log(size + sqrt(size * size + 1));
  return (float)(x < 0 ? -result : result);
}

float acoshf(float x) { return (float)log((double)x + sqrt((double)x * x - 1)); }

float atanhf(float x) {
  if (magnitude(x) < 1e-3) return x + x * x * x / 3;
  return (float)(log((1 + (double)x) / (1 - (double)x)) / 2);
}

/* Power series of the error function, for arguments small enough that its terms stay small. */
static double erf_series(double x) {
  double term = x, sum = x;
  for (int n = 1; n < 60; n++) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
  }
  return sum * 2 / sqrt(PI);
}

/* The continued fraction of the complement, from the inside out. */
static double erf_fraction(double x) {
  double below = x;
  for (int n = 24; n > 0; n--) below = x + n / 2.0 / below;
  return 1 - exp(-x * x) / below / sqrt(PI);
}

float erff(float x) {
  const double size = magnitude(x);
  if (isnan(x)) return x;
  const double result = size < 2.5 ? erf_series(size) : size > 6 ? 1 : erf_fraction(size);
  return (float)(x < 0 ? -result : result);
}
