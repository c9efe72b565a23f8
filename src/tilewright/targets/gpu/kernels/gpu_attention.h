#ifndef TW_GPU_ATTENTION_H
#define TW_GPU_ATTENTION_H

#include <math.h>

#include "attention_rows.h"

/* Queries, keys and values lie apart, or are heads of one tensor: queries first, values last. */
typedef struct {
  tw_attention_rows rows;
  float scale;
  int32_t q_token, k_token, v_token; /* from token to token, in elements */
  int32_t interleaved;               /* of queries that are rotated: 1: pairs are neighbours; 0: half a row apart */
  int32_t window;                    /* most keys that a query sees, its own included; 0: all before it */
  float cap;                         /* a score s becomes cap * tanh(s / cap); 0: it stays */
} tw_gpu_attention_params;

/* The first key that a query sees of those up to `seen`. */
static inline int32_t tw_first_seen(const tw_gpu_attention_params *p, int32_t seen) {
  return p->window && seen > p->window ? seen - p->window : 0;
}

static inline float tw_bent(const tw_gpu_attention_params *p, float score) {
  return p->cap != 0.0f ? p->cap * tanhf(score / p->cap) : score;
}

#endif
