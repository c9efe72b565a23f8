#ifndef TW_TFLITEADD_H
#define TW_TFLITEADD_H

#include "binary.h"
#include "requant.h"

/* (x - zero) * 2^left, times mul / 2^31 * 2^exponent */
typedef struct {
  int32_t zero;
  int32_t mul;
  int32_t exponent;
} tw_summand;

/* Both operands are scaled, then their sum; each time in the rounding of `requant`. */
typedef struct {
  tw_binary_params loops;
  tw_requant requant;
  int32_t left;
  tw_summand first, second;
  int32_t mul, exponent;
} tw_tfliteadd_params;

static inline int32_t tw_scaled_summand(const tw_tfliteadd_params *p, const tw_summand *s, int32_t x) {
  const tw_requant plain = {0, p->requant.rounding, 0, INT32_MIN, INT32_MAX, 1};
  return tw_requantise_scaled(&plain, (int32_t)((uint32_t)(x - s->zero) << p->left), s->mul, s->exponent);
}

static inline int32_t tw_add_scaled(const tw_tfliteadd_params *p, int32_t a, int32_t b) {
  const int32_t sum = tw_scaled_summand(p, &p->first, a) + tw_scaled_summand(p, &p->second, b);
  return tw_requantise_scaled(&p->requant, sum, p->mul, p->exponent);
}

#endif
