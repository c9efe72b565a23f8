#ifndef TW_MASKED_SOFTMAX_TABLES_H
#define TW_MASKED_SOFTMAX_TABLES_H

#include "narrowing.h"
#include "share_tables.h"

/* Shares of the rows of out[first[score] + second[mask]]; scores are products of rows of four bytes, requantised. */
typedef struct {
  int32_t heads, rows, columns; /* of each head: rows of a, and of b */
  int32_t mask_row;             /* from one row of the mask to the next; all heads have the same */
  tw_narrowing score;
  uint8_t first[256]; /* by score, from the lowest on */
  uint8_t second[256]; /* by byte of the mask, from the smallest on */
  uint8_t out[512];    /* by their sum */
  tw_share_tables tables;
} tw_masked_softmax_tables_params;

#endif
