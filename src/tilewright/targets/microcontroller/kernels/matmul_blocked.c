/* Rows of bytes times a constant matrix whose columns are in blocks of four, zero points in what is added. Four rows
 * are interleaved first, so that one pointer walks along all of them. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_blocked
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_X TW_A

#include "matmul_blocked_sizes.h"

#include "block_products.h"
#include "requant_row.h"

/* A last block may have less than four columns, whose totals begin with whatever is not beyond the end. */
static const int32_t *starts(const tw_matmul_blocked_params *p, const int32_t *c, int32_t column, int32_t *own) {
  if (column + TW_BLOCK <= p->columns) return c + column;
  for (int32_t i = 0; i < TW_BLOCK; i++) own[i] = c[tw_min(column + i, p->columns - 1)];
  return own;
}

#ifdef __riscv_vector
#include "sum_lanes.h"

/* Totals of neighbouring columns, at once if they have one factor. */
static void requantise_columns(const tw_matmul_blocked_params *p, tw_way way, int32_t column, const int32_t *mul,
                               const int32_t *add, const int32_t *total, TW_Y *y, int32_t count) {
  const int32_t at_once = p->mul_step || p->add_step ? 1 : count;
  for (int32_t i = 0; i < count; i += at_once) {
    const int32_t f = column + i;
    const tw_factor factor = tw_factor_of(way, &p->requant, mul ? mul[f * p->mul_step] : 0,
                                          add ? add[f * p->add_step] : 0);
    tw_requantise_row(way, &p->requant, &factor, total + i, y + i, at_once);
  }
}

/* Lanes are elements of the row. */
static void one_row(const tw_matmul_blocked_params *p, tw_way way, const TW_A *a, const int8_t *w, const int32_t *c,
                    const int32_t *mul, const int32_t *add, TW_Y *y) {
  int32_t total[TW_MOST_LANES];
  for (int32_t first = 0, count; first < p->columns; first += count) {
    count = tw_min(TW_MOST_LANES, p->columns - first);
    for (int32_t i = 0; i < count; i += TW_BLOCK) {
      int32_t own[TW_BLOCK];
      const int32_t *const start = starts(p, c, first + i, own);
      tw_lanes_dots(a, w + (first + i) * p->inner, p->inner, start, total + i);
    }
    requantise_columns(p, way, first, mul, add, total, y + first, count);
  }
}
#else
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

/* Element by element, so that those of four rows lie side by side. */
static void interleave(const TW_A *a, int32_t inner, TW_A *panel) {
  const TW_A *b = a + inner, *c = b + inner, *d = c + inner;
  for (int32_t k = 0; k < inner; k++, panel += 4) {
    panel[0] = a[k], panel[1] = b[k], panel[2] = c[k], panel[3] = d[k];
  }
}

static void four_rows(const tw_matmul_blocked_params *p, tw_way way, const TW_A *panel, const int8_t *w,
                      const int32_t *c, const int32_t *mul, const int32_t *add, TW_Y *y) {
  for (int32_t column = 0; column < p->columns; column += TW_BLOCK) {
    int32_t own[TW_BLOCK];
    tw_totals total;
    tw_products_4(panel, 4, w + column * p->inner, p->inner, starts(p, c, column, own), total);
    store(p, way, column, mul, add, total, y + column, 4);
  }
}

static void one_row(const tw_matmul_blocked_params *p, tw_way way, const TW_A *a, const int8_t *w, const int32_t *c,
                    const int32_t *mul, const int32_t *add, TW_Y *y) {
  for (int32_t column = 0; column < p->columns; column += TW_BLOCK) {
    int32_t own[TW_BLOCK];
    tw_totals total;
    tw_products_1(a, 1, w + column * p->inner, p->inner, starts(p, c, column, own), total);
    store(p, way, column, mul, add, total, y + column, 1);
  }
}
#endif

void TW_NAME(const tw_matmul_blocked_params *params, const TW_A *a, const int8_t *w, const int32_t *c,
             const int32_t *mul, const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_blocked_params *const p = params;
  const tw_way way = tw_way_of(p->requantised, &p->requant, add, p->add_step, p->columns, 1);
  int32_t row = 0;
#ifndef __riscv_vector
  for (; row + TW_PANEL_ROWS <= p->rows; row += TW_PANEL_ROWS, a += TW_PANEL_ROWS * p->inner, y += TW_PANEL_ROWS * p->columns) {
    interleave(a, p->inner, scratch);
    four_rows(p, way, scratch, w, c, mul, add, y);
  }
#else
  (void)scratch;
#endif
  for (; row < p->rows; row++, a += p->inner, y += p->columns) one_row(p, way, a, w, c, mul, add, y);
}
