#ifndef TW_QLINEARROTATE_ROWS_H
#define TW_QLINEARROTATE_ROWS_H

#include "high_word.h"
#include "rows_beside.h"

/* Rows of x beside rows of cosines and sines; the two of a pair lie `between` elements apart, pairs begin `step` apart. */
typedef struct {
  tw_rows_beside rows;
  int32_t count; /* of rows */
  int32_t length;
  int32_t between;
  int32_t step;
  int32_t x_zero;
  int32_t wrapped; /* the result of 2^31 */
  tw_high_word out;
} tw_qlinearrotate_rows_params;

#endif
