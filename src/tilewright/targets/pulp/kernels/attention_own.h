/* What the parts of attention_dots.c share. Needs TW_K and TW_V. */
#ifndef TW_ATTENTION_OWN_H
#define TW_ATTENTION_OWN_H

#include "attention_dots.h"
#include "cluster.h"
#include "lanes.h"
#include "pack8.h"

#define LOWEST INT32_MIN /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */
#define K_IS_BYTE (sizeof(TW_K) == 1)
#define V_SIGNED ((TW_V)-1 < 0)

typedef tw_attention_dots_params params_type;

/* What a core has of a row: its query as it is multiplied, and scores, then exponentials, then shares as bytes. */
typedef struct {
  const void *query;
  int32_t begin; /* what totals begin with, for the zero points */
  int32_t *row;
  int32_t seen;
  const TW_K *keys;
  const TW_V *values;
  const uint32_t *turned; /* the same, stored anew */
  int8_t *y;
  int32_t largest; /* score */
  uint64_t total;  /* of the exponentials */
} own_row;

#endif
