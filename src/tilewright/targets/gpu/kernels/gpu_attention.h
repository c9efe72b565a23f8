#ifndef TW_GPU_ATTENTION_H
#define TW_GPU_ATTENTION_H

#include "attention_rows.h"

/* Queries, keys and values lie apart, or are heads of one tensor: queries first, values last. */
typedef struct {
  tw_attention_rows rows;
  float scale;
  int32_t q_token, k_token, v_token; /* from token to token, in elements */
  int32_t interleaved;               /* of queries that are rotated: 1: pairs are neighbours; 0: half a row apart */
  int32_t window;                    /* most keys that a query sees, its own included; 0: all before it */
  float cap;                         /* a score s becomes cap * tanh(s / cap); 0: it stays */
  int32_t mask_batch, mask_head, mask_query, mask_key; /* from one to the next in a mask, in elements; 0: they share it */
  int32_t shows, empty_is_zero; /* truths that leave a score; whether rows without weights are zeros */
  float hidden;                 /* the score of what other truths hide */
} tw_gpu_attention_params;

#endif
