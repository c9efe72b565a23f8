/* Activations with an exponential in them, of x and alpha: a kernel is compiled with the one that TW_CURVE names. */
#ifndef TW_CURVES_H
#define TW_CURVES_H

#include "fast_functions.h"
#include "fast_gelu.h"

static inline float tw_curve_sigmoid(float x, float alpha) {
  (void)alpha;
  return tw_sigmoid(x);
}

static inline float tw_curve_tanh(float x, float alpha) {
  (void)alpha;
  return tw_tanh(x);
}

/* Where the exponential overflows to infinity, the quotient is 0, as it should be. */
static inline float tw_curve_swish(float x, float alpha) { return x / (1.0f + tw_exp(-alpha * x)); }

static inline float tw_curve_gelu(float x, float alpha) {
  (void)alpha;
  return tw_gelu(x);
}

/* (1 + tanh(u)) / 2 is the sigmoid of 2u. */
static inline float tw_curve_gelu_tanh(float x, float alpha) {
  (void)alpha;
  return x / (1.0f + tw_exp(-1.59576912f * (x + 0.044715f * x * x * x)));
}

#endif
