#ifndef TW_QLINEARATTENTION_H
#define TW_QLINEARATTENTION_H

#include "attention_rows.h"
#include "requant.h"

/* Scores are narrowed totals; shares are by the tables of qlinearmaskedsoftmax.h. */
typedef struct {
  tw_attention_rows rows;
  int32_t q_zero;
  int32_t k_zero;
  int32_t v_zero;
  tw_scaling score;
  int32_t bits;
  int32_t coarse;
  int64_t numerator;
  tw_requant share;
  tw_scaling mix;
} tw_qlinearattention_params;

#endif
