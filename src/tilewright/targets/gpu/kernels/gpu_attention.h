#ifndef TW_GPU_ATTENTION_H
#define TW_GPU_ATTENTION_H

#include "attention_rows.h"

/* Queries, keys and values lie apart, or are heads of one tensor: queries first, values last. */
typedef struct {
  tw_attention_rows rows;
  float scale;
  int32_t q_token, k_token, v_token; /* from token to token, in elements */
  int32_t interleaved;               /* of queries that are rotated: 1: pairs are neighbours; 0: half a row apart */
} tw_gpu_attention_params;

#endif
