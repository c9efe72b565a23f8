/* The functions of gates, of a row of sums in place; whoever includes this brings tw_sigmoid and tw_tanh. */
#ifndef TW_GATE_FUNCTIONS_H
#define TW_GATE_FUNCTIONS_H

#include <math.h>

#include "recurrent.h"

enum {
  TW_GATE_SIGMOID,
  TW_GATE_TANH,
  TW_GATE_RELU,
  TW_GATE_AFFINE,
  TW_GATE_LEAKY_RELU,
  TW_GATE_THRESHOLDED_RELU,
  TW_GATE_SCALED_TANH,
  TW_GATE_HARD_SIGMOID,
  TW_GATE_ELU,
  TW_GATE_SOFTSIGN,
  TW_GATE_SOFTPLUS
};

/* The functions that networks rarely have. */
static inline float tw_rare_gate(const tw_gate_function *function, float x) {
  const float alpha = function->alpha, beta = function->beta;
  switch (function->kind) {
    case TW_GATE_RELU: return x > 0.0f ? x : 0.0f;
    case TW_GATE_AFFINE: return alpha * x + beta;
    case TW_GATE_LEAKY_RELU: return x < 0.0f ? alpha * x : x;
    case TW_GATE_THRESHOLDED_RELU: return x > alpha ? x : 0.0f;
    case TW_GATE_SCALED_TANH: return alpha * tw_tanh(beta * x);
    case TW_GATE_HARD_SIGMOID: return fminf(fmaxf(alpha * x + beta, 0.0f), 1.0f);
    case TW_GATE_ELU: return x < 0.0f ? alpha * expm1f(x) : x;
    case TW_GATE_SOFTSIGN: return x / (1.0f + fabsf(x));
    default: return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));
  }
}

static inline void tw_gate(const tw_gate_function *function, float clip, float *x, int32_t first, int32_t end) {
  if (clip > 0.0f) {
    for (int32_t i = first; i < end; i++) x[i] = fminf(fmaxf(x[i], -clip), clip);
  }
  if (function->kind == TW_GATE_SIGMOID) {
    for (int32_t i = first; i < end; i++) x[i] = tw_sigmoid(x[i]);
  } else if (function->kind == TW_GATE_TANH) {
    for (int32_t i = first; i < end; i++) x[i] = tw_tanh(x[i]);
  } else {
    for (int32_t i = first; i < end; i++) x[i] = tw_rare_gate(function, x[i]);
  }
}

#endif
