/* Units of work of products of interleaved rows with columns in blocks. */
#ifndef TW_MATMUL_BLOCKED_WORK_H
#define TW_MATMUL_BLOCKED_WORK_H

#include "matmul_blocked_sizes.h"
#include "requant_work.h"

/* The call; taps of blocks with 4 rows and with one; blocks; rows that are interleaved; results. */
static inline int64_t tw_matmul_blocked_work(const tw_matmul_blocked_params *p, double *units) {
  const int64_t blocks = tw_up(p->columns, TW_BLOCK), rows = p->rows, fours = rows / TW_PANEL_ROWS;
  const int64_t ones = rows % TW_PANEL_ROWS;
  TW_UNITS(1, fours * blocks * p->inner, ones * blocks * p->inner, (fours + ones) * blocks, fours * p->inner,
           TW_BY_KIND(tw_result_kind(p->requantised, &p->requant), rows * p->columns));
}

/* The call; matrices; taps of blocks with 4 rows and with one; blocks; what is interleaved of either; results. */
static inline int64_t tw_matmul_panels_work(const tw_matmul_params *p, double *units) {
  const int64_t blocks = tw_up(p->columns, TW_BLOCK), chunks = tw_up(p->columns, tw_columns_at_a_time(p));
  const int64_t rows = p->rows, fours = rows / TW_PANEL_ROWS, ones = rows % TW_PANEL_ROWS;
  int64_t batch = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) batch *= p->size[axis];
  TW_UNITS(1, batch * chunks, batch * fours * blocks * p->inner, batch * ones * blocks * p->inner,
           batch * (fours + ones) * blocks, batch * blocks * p->inner, batch * chunks * rows * p->inner,
           TW_BY_KIND(tw_result_kind(p->requantised, &p->requant), batch * rows * p->columns));
}

#endif
