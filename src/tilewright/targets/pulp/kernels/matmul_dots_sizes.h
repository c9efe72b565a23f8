/* Working memory of products of bytes by all cores. */
#ifndef TW_MATMUL_DOTS_SIZES_H
#define TW_MATMUL_DOTS_SIZES_H

#include "matmul.h"

/* Of four columns, or of one where there are fewer. */
static inline int32_t tw_column_strips(int32_t columns) { return columns < 4 ? columns : (columns + 3) >> 2; }

/* Strips are dealt out whole if that is fair, else in parts of their blocks of rows. */
static inline int32_t tw_row_parts(int32_t strips, int32_t blocks, int32_t cores) {
  return strips % cores == 0 || strips >= 4 * cores ? 1 : tw_min(blocks, cores);
}

/* Whether an operand does not lie row by row along the sum, so that it is copied. */
static inline int tw_a_is_packed(const tw_matmul_params *p) {
  return p->inner < 4 || p->a_column != 1 || (p->rows > 1 && p->a_row != p->inner);
}

static inline int tw_b_is_packed(const tw_matmul_params *p) {
  return p->inner < 4 || p->b_row != 1 || (p->columns > 1 && p->b_column != p->inner);
}

/* Copies of these operands, of all matrices. */
static inline int64_t tw_matmul_dots_scratch(const tw_matmul_params *p) {
  int64_t rows = (tw_a_is_packed(p) ? p->rows : 0) + (int64_t)(tw_b_is_packed(p) ? p->columns : 0);
  for (int32_t axis = 0; axis < p->rank; axis++) rows *= p->size[axis];
  return rows * tw_max(p->inner, 4);
}

#endif
