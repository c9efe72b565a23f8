/* Products with a constant matrix whose columns are in blocks of four: results of a block. Needs TW_Y and tw_totals. */
#ifndef TW_BLOCKED_RESULTS_H
#define TW_BLOCKED_RESULTS_H

#include "always.h"
#include "filter_block.h"
#include "matmul_blocked.h"
#include "requant_row.h"

/* Results of a block's columns in some rows. */
TW_ALWAYS void store(const tw_matmul_blocked_params *p, tw_way way, int32_t column, const int32_t *mul,
                     const int32_t *add, tw_totals total, TW_Y *y, int32_t rows) {
  const int32_t columns = tw_min(TW_BLOCK, p->columns - column);
  for (int32_t i = 0; i < columns; i++, y++) {
    const int32_t f = column + i;
    const tw_factor factor = tw_factor_of(way, &p->requant, mul ? mul[f * p->mul_step] : 0,
                                          add ? add[f * p->add_step] : 0);
    for (int32_t row = 0; row < rows; row++) {
      tw_requantise_row(way, &p->requant, &factor, &total[i][row], y + row * p->columns, 1);
    }
  }
}

/* A last block may have less than four columns, whose totals begin with whatever is not beyond the end. */
static const int32_t *starts(const tw_matmul_blocked_params *p, const int32_t *c, int32_t column, int32_t *own) {
  if (column + TW_BLOCK <= p->columns) return c + column;
  for (int32_t i = 0; i < TW_BLOCK; i++) own[i] = c[tw_min(column + i, p->columns - 1)];
  return own;
}

#endif
