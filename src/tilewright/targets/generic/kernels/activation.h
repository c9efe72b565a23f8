/* Activations of results, applied before or after they are stored: a few instructions each. */
#ifndef TW_ACTIVATION_H
#define TW_ACTIVATION_H

#include "tw.h"

enum { TW_NO_ACTIVATION, TW_CLAMP, TW_LEAKY, TW_HARD_SIGMOID, TW_HARD_SWISH };

typedef struct {
  int32_t kind; /* clamp: between alpha and beta; leaky: alpha times what is negative; hard: a slope and an offset */
  float alpha, beta;
} tw_activation;

/* x between low and high; NaN stays NaN. */
static inline float tw_clamp_f32(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/* `count` results, `step` apart, in place. */
static inline void tw_activate(const tw_activation *activation, float *y, int32_t count, int32_t step) {
  const float alpha = activation->alpha, beta = activation->beta;
  if (activation->kind == TW_CLAMP) {
    for (int32_t i = 0; i < count; i++) y[i * step] = tw_clamp_f32(y[i * step], alpha, beta);
  } else if (activation->kind == TW_LEAKY) {
    for (int32_t i = 0; i < count; i++) y[i * step] = y[i * step] < 0.0f ? alpha * y[i * step] : y[i * step];
  } else if (activation->kind == TW_HARD_SIGMOID) {
    for (int32_t i = 0; i < count; i++) y[i * step] = tw_clamp_f32(alpha * y[i * step] + beta, 0.0f, 1.0f);
  } else if (activation->kind == TW_HARD_SWISH) {
    for (int32_t i = 0; i < count; i++) y[i * step] *= tw_clamp_f32(alpha * y[i * step] + beta, 0.0f, 1.0f);
  }
}

#endif
