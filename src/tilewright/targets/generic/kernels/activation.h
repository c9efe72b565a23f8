/* Activations of results, applied before or after they are stored: a few instructions each, or the one curve that the
 * kernel is compiled with. */
#ifndef TW_ACTIVATION_H
#define TW_ACTIVATION_H

#include "nan.h"
#include "tw.h"

enum { TW_NO_ACTIVATION, TW_CLAMP, TW_LEAKY, TW_HARD_SIGMOID, TW_HARD_SWISH, TW_IS_CURVE };

typedef struct {
  int32_t kind; /* clamp: between alpha and beta; leaky: negative values times alpha; hard: a slope and an offset;
                 * a curve: alpha is what swish multiplies x with */
  float alpha, beta;
} tw_activation;

/* x between low and high; NaN stays NaN. */
static inline float tw_clamp_f32(float x, float low, float high) {
  const float raised = tw_is_below(x, low) ? low : x;
  return raised > high ? high : raised;
}

/* One result; `kind` is known before a loop over many. */
static inline float tw_activated(int32_t kind, float alpha, float beta, float x) {
  if (kind == TW_CLAMP) return tw_clamp_f32(x, alpha, beta);
  if (kind == TW_LEAKY) return x < 0.0f ? alpha * x : x;
  const float gate = tw_clamp_f32(alpha * x + beta, 0.0f, 1.0f);
  return kind == TW_HARD_SWISH ? x * gate : gate;
}

/* `count` results, `step` apart, in place. The kinds are constants in each loop, so that compilers vectorise it. */
#define TW_ACTIVATE_LOOP(KIND)                 \
  for (int32_t i = 0; i < count; i++) {        \
    float *const at = y + i * step;            \
    *at = tw_activated(KIND, alpha, beta, *at); \
  }

#ifdef TW_CURVE

/* All results of such a kernel go through its curve, which takes x and alpha. */
static inline void tw_activate(const tw_activation *activation, float *y, int32_t count, int32_t step) {
  const float alpha = activation->alpha;
  if (step == 1) {
    TW_SIDE_BY_SIDE for (int32_t i = 0; i < count; i++) y[i] = TW_CURVE(y[i], alpha);
    return;
  }
  for (int32_t i = 0; i < count; i++) y[i * step] = TW_CURVE(y[i * step], alpha);
}

#else

static inline void tw_activate(const tw_activation *activation, float *y, int32_t count, int32_t step) {
  const float alpha = activation->alpha, beta = activation->beta;
  switch (activation->kind) {
    case TW_CLAMP: TW_ACTIVATE_LOOP(TW_CLAMP) break;
    case TW_LEAKY: TW_ACTIVATE_LOOP(TW_LEAKY) break;
    case TW_HARD_SIGMOID: TW_ACTIVATE_LOOP(TW_HARD_SIGMOID) break;
    case TW_HARD_SWISH: TW_ACTIVATE_LOOP(TW_HARD_SWISH) break;
    default: break;
  }
}

#endif

#endif
