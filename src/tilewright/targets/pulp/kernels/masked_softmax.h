#ifndef TW_MASKED_SOFTMAX_H
#define TW_MASKED_SOFTMAX_H

#include "scoring.h"
#include "share_tables.h"

/* Shares of the rows of masked scores, which are unsigned bytes: clipped and shifted by what the mask's byte says. */
typedef struct {
  int32_t heads, rows, columns; /* of each head: rows of a, and of b */
  int32_t mask_row;             /* from one row of the mask to the next; all heads have the same */
  int32_t quiet; /* distance from the largest score from which on exponentials are small */
  int32_t gone;  /* and from which on they are 0; more than 255 where they never are */
  int32_t rise;  /* in 256ths: by how much more than 1 a small one is at most larger than one that is nearer */
  tw_scoring scores;   /* as they are where the mask is 0 */
  uint32_t masks[256]; /* by byte of the mask, from the smallest on: mask_row.h */
  tw_share_tables tables;
} tw_masked_softmax_params;

#endif
