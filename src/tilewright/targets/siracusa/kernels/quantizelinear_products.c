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
/* Beyond it, a product plus all else might overflow, or was no number. */
#define TW_LARGE (1 << 30)

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

/* Four products become bytes from the lowest on; 0 where one of them needs a division. */
static inline int four(const float *x, float factor, int32_t start, int32_t top, int32_t lowest, TW_Y *y) {
  const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  const int32_t p0 = nearest(x0 * factor), p1 = nearest(x1 * factor), p2 = nearest(x2 * factor), p3 = nearest(x3 * factor);
  if (tw_x_max(tw_x_max(p0, p1), tw_x_max(p2, p3)) > TW_LARGE) return 0;
  const int32_t t0 = p0 + start, t1 = p1 + start, t2 = p2 + start, t3 = p3 + start, mask = TW_ONE - 1;
  if (tw_x_min(tw_x_min(t0 & mask, t1 & mask), tw_x_min(t2 & mask, t3 & mask)) < 2 * TW_CLOSE) return 0;
  const uint32_t bytes = tw_x_pack4(tw_x_clipu(t0 >> TW_FRACTION, top), tw_x_clipu(t1 >> TW_FRACTION, top),
                                    tw_x_clipu(t2 >> TW_FRACTION, top), tw_x_clipu(t3 >> TW_FRACTION, top));
  tw_x_store(y, (uint32_t)tw_x_add4((int32_t)bytes, lowest));
  return 1;
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->outer * params->inner, 4);
  const int32_t offset = zero[0], low = (params->low - offset) * TW_ONE, high = (params->high - offset) * TW_ONE;
  const rule r = {scale[0], (float)(params->low - offset), (float)(params->high - offset), offset};
  const float factor = TW_ONE / scale[0];
  const int32_t start = offset * TW_ONE + TW_ONE / 2 + TW_CLOSE, top = params->high - params->low;
  const int32_t lowest = (int32_t)(0x01010101u * (uint8_t)params->low);
  int32_t i = share.first;
  if (!(factor > 1e-30f && factor < 1e30f)) {
    for (; i < share.end; i++) y[i] = (TW_Y)divided(&r, x[i]);
  }
  while (i < share.end) {
    for (; i + 4 <= share.end && four(x + i, factor, start - params->low * TW_ONE, top, lowest, y + i); i += 4) {
    }
    for (const int32_t end = tw_x_min(share.end, i + 4); i < end; i++) {
      const int32_t product = nearest(x[i] * factor);
      const int32_t result = tw_x_min(tw_x_max(product, low), high) + start;
      const int is_close = (result & (TW_ONE - 1)) < 2 * TW_CLOSE;
      y[i] = (TW_Y)(is_close || product == INT32_MAX ? divided(&r, x[i]) : result >> TW_FRACTION);
    }
  }
}
