#ifndef TW_MASKED_ATTENTION_H
#define TW_MASKED_ATTENTION_H

#include "masked_softmax.h"

/* Shares of 0 become 0, and no sum of shares with values leaves the range that `mix` is exact for. */
typedef struct {
  tw_masked_softmax_params shares;
  int32_t mask_words; /* of a row that each core has room for */
  int32_t strips; /* of four values in a row of v */
  int32_t y_head; /* from the result of one head to that of the next, and from row to row */
  int32_t y_row;
  tw_narrowing mix;
  uint32_t low; /* the lowest result, four times */
} tw_masked_attention_params;

#endif
