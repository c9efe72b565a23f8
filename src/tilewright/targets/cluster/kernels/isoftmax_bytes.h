#ifndef TW_ISOFTMAX_BYTES_H
#define TW_ISOFTMAX_BYTES_H

#include "share_tables.h"

/* Rows of x are independent. */
typedef struct {
  int32_t rows;
  int32_t length;
  tw_share_tables tables;
} tw_isoftmax_bytes_params;

#endif
