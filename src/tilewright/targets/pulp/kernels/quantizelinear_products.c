/* y = saturate(round(x / scale) + zero) to bytes, ties to even; what is not a number gives the lowest value; all cores
 * together. The cores share one divider, so that x is multiplied by the reciprocal, to a number with a fraction of twelve
 * bits, and divided only where that is so close to the middle between two whole numbers that it might be rounded to
 * the wrong one. */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_products_i8
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "xpulp.h"

#define TW_FRACTION 12
#define TW_ONE (1 << TW_FRACTION)
/* Below 512 a product with a rounded reciprocal is less than 3 / TW_ONE from the quotient. */
#define TW_CLOSE 3
/* Sums whose fraction is as large are close to the middle, or the largest integer: too large, or no number. */
#define TW_DOUBTFUL (TW_ONE - 2 * TW_CLOSE)

static inline float clamped(float x, float low, float high) { return x >= low ? x <= high ? x : high : low; }

/* Floats from 2^23 on have no fraction: adding 1.5 * 2^23 rounds to a whole number, ties to even. */
static inline float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

/* The largest integer for what is not a number, or too large. */
static inline int32_t nearest(float x) {
#ifdef __riscv
  int32_t word;
  __asm__("fcvt.w.s %0, %1, rne" : "=r"(word) : "f"(x));
  return word;
#else
  if (!(x < 2147483648.0f)) return INT32_MAX;
  return x <= -2147483648.0f ? INT32_MIN : (int32_t)(x < 0.0f ? x - 0.5f : x + 0.5f);
#endif
}

typedef struct {
  float divisor, low, high; /* of quotients */
  int32_t offset;
} rule;

static __attribute__((noinline)) int32_t divided(const rule *r, float x) {
  return (int32_t)rounded(clamped(x / r->divisor, r->low, r->high)) + r->offset;
}

static inline int32_t product(float x, float factor, float start) {
#ifdef __riscv
  float sum;
  __asm__("fmadd.s %0, %1, %2, %3" : "=f"(sum) : "f"(x), "f"(factor), "f"(start));
  return nearest(sum);
#else
  return nearest(x * factor + start);
#endif
}

/* Four sums become bytes from the lowest on; 0 where one of them needs a division. */
static inline int four(const float *x, float factor, float start, int32_t top, int32_t lowest, TW_Y *y) {
  const int32_t mask = TW_ONE - 1;
  const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  const int32_t t0 = product(x0, factor, start), t1 = product(x1, factor, start);
  const int32_t t2 = product(x2, factor, start), t3 = product(x3, factor, start);
  if (tw_x_max(tw_x_max(t0 & mask, t1 & mask), tw_x_max(t2 & mask, t3 & mask)) >= TW_DOUBTFUL) return 0;
  const uint32_t bytes = tw_x_pack4(tw_x_clipu(t0 >> TW_FRACTION, top), tw_x_clipu(t1 >> TW_FRACTION, top),
                                    tw_x_clipu(t2 >> TW_FRACTION, top), tw_x_clipu(t3 >> TW_FRACTION, top));
  tw_x_store(y, (uint32_t)tw_x_add4((int32_t)bytes, lowest));
  return 1;
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->outer * params->inner, 4);
  const int32_t offset = zero[0], low = params->low, top = params->high - low;
  const rule r = {scale[0], (float)(low - offset), (float)(params->high - offset), offset};
  const float factor = TW_ONE / scale[0];
  /* Of a sum from the lowest value on: a half to round, less what may be wrong, so that the fraction tells. */
  const float start = (float)((offset - low) * TW_ONE + TW_ONE / 2 - TW_CLOSE);
  const int32_t lowest = (int32_t)(0x01010101u * (uint8_t)low);
  const float *const end = x + share.end;
  x += share.first, y += share.first;
  if (!(factor > 1e-30f && factor < 1e30f)) {
    for (; x < end; x++) *y++ = (TW_Y)divided(&r, *x);
  }
  while (x < end) {
    const float *const last = end - 4;
    for (; x <= last && four(x, factor, start, top, lowest, y); x += 4, y += 4) {
    }
    for (int32_t rest = tw_x_min((int32_t)(end - x), 4); rest > 0; rest--, x++) {
      const int32_t sum = product(*x, factor, start);
      const int is_doubtful = (sum & (TW_ONE - 1)) >= TW_DOUBTFUL;
      *y++ = (TW_Y)(is_doubtful ? divided(&r, *x) : tw_x_clipu(sum >> TW_FRACTION, top) + low);
    }
  }
}
