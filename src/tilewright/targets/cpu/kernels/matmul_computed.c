/* Product of two matrices of floats that are both computed. Columns of b are a panel where they are, if they lie side by
 * side; otherwise, and where fewer are left, they are copied. A few rows meet columns in one piece one by one. */
#include "matmul.h"
#include "panels.h"
#include "row_dots.h"
#include "turned_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_computed
#endif

enum { ROWS_AT_A_TIME = 96, FEW_ROWS = 4 };

/* Working memory: a panel, behind zeros that sums start with. */
typedef struct {
  float *zeros, *panel;
} memory;

static void copy_columns(const tw_matmul_params *p, const float *b, int32_t columns, float *panel) {
  if (p->b_row == 1) {
    tw_turn_rows(b, p->b_column, columns, p->inner, panel);
    return;
  }
  for (int32_t k = 0; k < p->inner; k++, b += p->b_row, panel += TW_PANEL) {
    for (int32_t j = 0; j < TW_PANEL; j++) panel[j] = j < columns ? b[(int64_t)j * p->b_column] : 0.0f;
  }
}

/* All rows with the columns of one panel. */
static void one_panel(const tw_matmul_params *p, const float *a, const float *panel, int64_t step, int32_t columns,
                      const memory *m, float *y) {
  const int32_t at = 0;
  const tw_parts parts = {1, p->inner, &at};
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};
  const float *row[ROWS_AT_A_TIME];
  for (int32_t first = 0; first < p->rows; first += ROWS_AT_A_TIME) {
    const int32_t rows = tw_min(ROWS_AT_A_TIME, p->rows - first);
    for (int32_t r = 0; r < rows; r++) row[r] = a + (int64_t)(first + r) * p->a_row;
    tw_tile_end end = {m->zeros, unbounded, y + (int64_t)first * p->y_row, p->y_row, columns};
    tw_multiply_all(rows, row, &parts, panel, step, &end);
  }
}

static void rows_by_columns(const tw_matmul_params *p, const float *a, const float *b, float *y) {
  for (int32_t r = 0; r < p->rows; r++) {
    tw_row_dots(a + (int64_t)r * p->a_row, b, p->b_column, p->inner, p->columns, y + (int64_t)r * p->y_row);
  }
}

/* What is done with products: a factor, a summand, an activation. */
static void finish(const tw_matmul_params *p, const float *c, float *y) {
  for (int32_t r = 0; r < p->rows; r++) {
    float *const row = y + (int64_t)r * p->y_row;
    if (c || p->alpha != 1.0f) tw_matmul_store_f32(p, c, r, 0, row, row, p->columns);
    if (p->activation.kind) tw_activate(&p->activation, row, p->columns, 1);
  }
}

static void one_product(const tw_matmul_params *p, const float *a, const float *b, const float *c, float *y,
                        const memory *m) {
  if (p->rows < FEW_ROWS && p->b_row == 1) {
    rows_by_columns(p, a, b, y);
  } else {
    for (int32_t first = 0; first < p->columns; first += TW_PANEL) {
      const int32_t columns = tw_min(TW_PANEL, p->columns - first);
      const float *const from = b + (int64_t)first * p->b_column;
      const int is_panel = columns == TW_PANEL && p->b_column == 1;
      if (!is_panel) copy_columns(p, from, columns, m->panel);
      one_panel(p, a, is_panel ? from : m->panel, is_panel ? p->b_row : TW_PANEL, columns, m, y + first);
    }
  }
  finish(p, c, y);
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y,
             void *scratch) {
  const memory m = {scratch, (float *)scratch + TW_PANEL};
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  memset(m.zeros, 0, TW_PANEL * sizeof *m.zeros);
  do {
    one_product(params, a + at.a, b + at.b, c ? c + at.c : 0, y + at.y, &m);
  } while (tw_batch_next(params, &at));
}
