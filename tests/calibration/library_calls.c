/* Calls what kernels may call of the compiler's library and of math.c. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static volatile float f, g;
static volatile double d, e;
static volatile int64_t l;
static volatile uint64_t u;
static volatile int32_t n, m;
static char bytes[64];

static void floats(void) {
  f = expf(f) + exp2f(f) + logf(f) + log2f(f) + sinf(f) + cosf(f) + tanf(f) + fmodf(f, g) + powf(f, g);
  f = floorf(f) + ceilf(f) + roundf(f) + truncf(f) + rintf(f) + expm1f(f) + log1pf(f) + erff(f);
  f = tanhf(f) + sinhf(f) + coshf(f) + asinf(f) + acosf(f) + atanf(f) + asinhf(f) + acoshf(f) + atanhf(f);
  f = g / f * f - g + sqrtf(f);
  n = f < g || f == g;
}

static void doubles(void) {
  d = exp(d) + log(d) + sqrt(d) + floor(d) + ceil(d) + round(d) + trunc(d) + pow(d, e) + tanh(d);
  d = e / d * d - e;
  n = d < e || d == e || d >= e;
}

static void conversions(void) {
  l = (int64_t)d + (int64_t)f;
  u = (uint64_t)d + (uint64_t)f;
  n = (int32_t)d + (int32_t)f;
  d = (double)l + (double)u + (double)n + (double)f;
  f = (float)d + (float)l + (float)u + (float)n;
}

static void integers(void) {
  l = l / m * l + l % m + (l >> n) + (l << n);
  u = u / (uint64_t)l + u % (uint64_t)l + (u >> n);
  n = n / m + n % m;
}

void _start(void) {
  floats();
  doubles();
  conversions();
  integers();
  memcpy(bytes, bytes + n, (unsigned)n);
  memset(bytes, n, (unsigned)m);
  memmove(bytes, bytes + n, (unsigned)m);
}
