/* Matrix product of floats. */
#ifndef TW_MATMUL_FLOATS_H
#define TW_MATMUL_FLOATS_H

/* Weights are floats, unless whoever includes this says how they are stored. */
#ifndef TW_WEIGHT
#define TW_WEIGHT float
#define TW_FROM_WEIGHT(x) (x)
#endif

#define TW_A float
#define TW_B TW_WEIGHT
#define TW_PANEL float
#define TW_FROM_B(x) TW_FROM_WEIGHT(x)
#define TW_TOTAL float
#define TW_FACTOR float
#define TW_INTO_FACTOR(p, x) (x)
#define TW_ADD_PRODUCT(total, factor, x) ((total) += (factor) * (x))
#define TW_PANEL_ROWS TW_FLOAT_ROWS

#include "matmul.h"
#include "matmul_blocks.h"

static void one_product(const tw_matmul_params *p, const float *a, const TW_WEIGHT *b, const float *c, float *y,
                        float *panel) {
  const int32_t columns = tw_min(TW_COLUMNS, p->columns);
  for (int32_t next = 0; next < p->columns; next += TW_COLUMNS) {
    const int32_t column = tw_block_start(p, next);
    for (int32_t row = 0; row < p->rows; row += TW_ROWS) {
      const int32_t rows = tw_min(TW_ROWS, p->rows - row);
      float total[TW_ROWS][TW_COLUMNS] = {{0}};
      tw_multiply(p, a + row * p->a_row, b + column * p->b_column, rows, columns, row == 0, panel, total);
      for (int32_t r = 0; r < rows; r++) {
        float *const to = y + (row + r) * p->y_row + column;
        tw_matmul_store_f32(p, c, row + r, column, total[r], to, columns);
        tw_activate(&p->activation, to, columns, 1);
      }
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const float *a, const TW_WEIGHT *b, const float *c, float *y,
             void *scratch) {
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  do {
    one_product(params, a + at.a, b + at.b, c ? c + at.c : 0, y + at.y, scratch);
  } while (tw_batch_next(params, &at));
}

#endif
