/* Windows and soft caps of attention, for kernels that have them (TW_LIMITED): a hyperbolic tangent of each score is more
 * code than all else, which takes a driver's compiler longer. */
#ifndef TW_GPU_ATTENTION_LIMITS_H
#define TW_GPU_ATTENTION_LIMITS_H

#include <math.h>

#include "gpu_attention.h"

/* The first key that a query sees of those up to `seen`. */
static inline int32_t tw_first_seen(const tw_gpu_attention_params *p, int32_t seen) {
#ifdef TW_LIMITED
  return p->window && seen > p->window ? seen - p->window : 0;
#else
  (void)p, (void)seen;
  return 0;
#endif
}

static inline float tw_bent(const tw_gpu_attention_params *p, float score) {
#ifdef TW_LIMITED
  return p->cap != 0.0f ? p->cap * tanhf(score / p->cap) : score;
#else
  (void)p;
  return score;
#endif
}

#endif
