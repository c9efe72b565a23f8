/* Product of two matrices of floats that are both computed. Columns of b are a panel where they are, if they lie side by
 * side; otherwise, and where fewer are left, they are copied. Some rows meet as many panels as a cache holds before the
 * next rows do. A few rows meet columns in one piece one by one. */
#include "panels_sizes.h"

#include "panels.h"
#include "row_dots.h"
#include "turned_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_computed
#endif

enum { ROWS_AT_A_TIME = 96, FEW_ROWS = 4 };

/* Working memory: some panels, behind zeros that sums start with. */
typedef struct {
  float *zeros, *panels;
} memory;

/* Columns as a panel, whose rows are `step` apart. */
typedef struct {
  const float *at;
  int64_t step;
} panel_of_b;

static void copy_columns(const tw_matmul_params *p, const float *b, int32_t columns, float *panel) {
  if (p->b_row == 1) {
    tw_turn_rows(b, p->b_column, columns, p->inner, panel);
    return;
  }
  for (int32_t k = 0; k < p->inner; k++, b += p->b_row, panel += TW_PANEL) {
    for (int32_t j = 0; j < TW_PANEL; j++) panel[j] = j < columns ? b[(int64_t)j * p->b_column] : 0.0f;
  }
}

/* The panel of columns from `first` on: where they are, or copied to `to`. */
static panel_of_b find_panel(const tw_matmul_params *p, const float *b, int32_t first, float *to) {
  const int32_t columns = tw_min(TW_PANEL, p->columns - first);
  const float *const from = b + (int64_t)first * p->b_column;
  const panel_of_b in_place = {from, p->b_row}, copied = {to, TW_PANEL};
  if (columns == TW_PANEL && p->b_column == 1) return in_place;
  copy_columns(p, from, columns, to);
  return copied;
}

/* Some rows with the columns of some panels, from `column` on. */
static void multiply_rows(const tw_matmul_params *p, const float *const *row, int32_t rows, const panel_of_b *panels,
                          int32_t column, int32_t end_column, const memory *m, float *y) {
  const int32_t at = 0;
  const tw_parts parts = {1, p->inner, &at};
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};
  for (int32_t n = 0; column < end_column; n++, column += TW_PANEL) {
    tw_tile_end end = {m->zeros, unbounded, y + column, p->y_row, tw_min(TW_PANEL, end_column - column)};
    tw_multiply_all(rows, row, &parts, panels[n].at, panels[n].step, &end);
  }
}

/* All rows with the columns of some panels. */
static void some_panels(const tw_matmul_params *p, const float *a, const panel_of_b *panels, int32_t column,
                        int32_t end_column, const memory *m, float *y) {
  const float *row[ROWS_AT_A_TIME];
  for (int32_t first = 0; first < p->rows; first += ROWS_AT_A_TIME) {
    const int32_t rows = tw_min(ROWS_AT_A_TIME, p->rows - first);
    for (int32_t r = 0; r < rows; r++) row[r] = a + (int64_t)(first + r) * p->a_row;
    multiply_rows(p, row, rows, panels, column, end_column, m, y + (int64_t)first * p->y_row);
  }
}

/* As many panels at a time as there is room for. */
static void all_panels(const tw_matmul_params *p, const float *a, const float *b, const memory *m, float *y) {
  const int32_t most = tw_matmul_computed_panels(p, TW_PANEL);
  panel_of_b panels[TW_MOST_COPIED];
  for (int32_t column = 0; column < p->columns; column += most * TW_PANEL) {
    const int32_t end = tw_min(p->columns, column + most * TW_PANEL);
    for (int32_t n = 0; column + n * TW_PANEL < end; n++) {
      panels[n] = find_panel(p, b, column + n * TW_PANEL, m->panels + (int64_t)n * p->inner * TW_PANEL);
    }
    some_panels(p, a, panels, column, end, m, y);
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
  if (p->rows < FEW_ROWS && p->b_row == 1) rows_by_columns(p, a, b, y);
  else all_panels(p, a, b, m, y);
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
