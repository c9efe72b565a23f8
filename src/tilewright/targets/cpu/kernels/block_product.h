#ifndef TW_BLOCK_PRODUCT_H
#define TW_BLOCK_PRODUCT_H

#include "tw.h"

/* x[rows, inner], panels of weights, bias[columns] or none -> y[rows, columns]; one of several parts of it. */
typedef struct {
  int32_t rows;
  int32_t inner;
  int32_t columns;
  int32_t panel_bytes;
  int32_t part;
  int32_t parts;
} tw_block_product_params;

/* What a part computes: rows of x, and panels of weights. */
typedef struct {
  int32_t first_row, last_row, first_panel, last_panel;
} tw_share_of_product;

enum { TW_ROWS_OF_A_PART = 16 }; /* at least, where parts have all weights */

static inline tw_share_of_product tw_own_share(const tw_block_product_params *p, int32_t panels) {
  tw_share_of_product share = {0, p->rows, 0, panels};
  const int64_t part = p->part, parts = p->parts;
  if (p->rows < TW_ROWS_OF_A_PART * parts) {
    share.first_panel = (int32_t)(panels * part / parts);
    share.last_panel = (int32_t)(panels * (part + 1) / parts);
  } else {
    share.first_row = (int32_t)(p->rows * part / parts);
    share.last_row = (int32_t)(p->rows * (part + 1) / parts);
  }
  return share;
}

#endif
