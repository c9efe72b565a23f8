/* Parameters of products that are soon over: what can be known before the network runs. */
#ifndef TW_SMALL_MATMUL_PARAMS_H
#define TW_SMALL_MATMUL_PARAMS_H

#include "requant.h"

typedef struct {
  int32_t batches; /* matrices, each with the strides of a, b, c and y from one to the next */
  int32_t stride_a, stride_b, stride_c, stride_y;
  int32_t rows, inner, columns;
  int32_t a_row, b_row, b_column, y_row; /* a and y are contiguous along their rows */
  int32_t c_column;
  int32_t parts, part_rows; /* rows are dealt out in parts where there are fewer strips of columns than cores */
  int32_t offset;    /* the zero point and half, in units of shifted bits */
  uint32_t saturates_beyond; /* products beyond this saturate the result, whatever the summand */
  uint32_t safe_mul; /* up to this factor no sum without c overflows */
  tw_requant requant;
} tw_small_matmul_params;

#endif
