#ifndef TW_WRITE_ROWS_H
#define TW_WRITE_ROWS_H

#include "tw.h"

typedef struct {
  int32_t held;   /* rows of x and y */
  int32_t rows;   /* new ones */
  int32_t length; /* elements of a row */
} tw_write_rows_params;

#endif
