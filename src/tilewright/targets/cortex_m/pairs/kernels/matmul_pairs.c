/* Rows of integers times a constant matrix whose columns are in pairs, zero points in what totals begin with. Four rows
 * become a panel of 16 bits together, or one. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_pairs
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_X TW_A

#include "matmul_pairs_sizes.h"

#include "pair_results.h"
#include "widen.h"

/* Rows `inner` apart, element pairs of each `rows` words apart. */
TW_ALWAYS void widen_rows(const TW_A *a, int32_t inner, int32_t rows, uint32_t *panel) {
  for (int32_t row = 0; row < rows; row++, a += inner) {
    uint32_t *to = panel + row;
    int32_t k = 0;
    for (; k + 4 <= inner; k += 4, to += 2 * rows) tw_widen_beside(a + k, to, rows);
    for (; k < inner; k += 2, to += rows) *to = tw_beside(a[k], k + 1 < inner ? a[k + 1] : 0);
  }
}

/* Results of each column for four rows, which lie side by side, become rows. */
static void transpose(const TW_Y *from, int32_t columns, TW_Y *y) {
  TW_Y *const second = y + columns, *const third = second + columns, *const fourth = third + columns;
  for (int32_t i = 0; i < columns; i++, from += 4) {
    y[i] = from[0], second[i] = from[1], third[i] = from[2], fourth[i] = from[3];
  }
}

void TW_NAME(const tw_matmul_pairs_params *params, const TW_A *a, const int8_t *w, TW_Y *y, void *scratch) {
  const tw_matmul_pairs_params *const p = params;
  const int32_t steps = (p->inner + 1) / 2;
  uint32_t *const panel = scratch;
  TW_Y *const columns_first = (TW_Y *)(void *)(panel + TW_PANEL_ROWS * steps);
  tw_layer layer = tw_layer_of(panel, steps, p->columns, 4, w, p->way);
  int32_t row = 0;
  for (; row + 4 <= p->rows; row += 4, a += 4 * p->inner, y += 4 * p->columns) {
    widen_rows(a, p->inner, 4, panel);
    tw_all_filters(&layer, &p->requant, p->requantised, 4, columns_first);
    transpose(columns_first, p->columns, y);
  }
  layer.one.plane = (int32_t)sizeof(TW_Y);
  for (; row < p->rows; row++, a += p->inner, y += p->columns) {
    widen_rows(a, p->inner, 1, panel);
    tw_all_filters(&layer, &p->requant, p->requantised, 1, y);
  }
}
