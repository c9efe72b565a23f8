/* Rows of bytes times a constant matrix whose columns are in blocks of four. Needs TW_NAME, TW_A, which is TW_X too, TW_Y, and the
 * products of a panel: dot_products.h or bit_products.h. */
#ifndef TW_DOTTED_MATMUL_H
#define TW_DOTTED_MATMUL_H

#include "blocked_results.h"
#include "matmul_dots_sizes.h"

/* A row as words that lie `step` words apart, filled up with zeros to whole words of weights. */
static void as_words(const TW_A *a, int32_t inner, int32_t step, int8_t *to) {
  int32_t k = 0;
  for (; k + 4 <= inner; k += 4, to += 4 * step) {
    const TW_A first = a[k], second = a[k + 1], third = a[k + 2], fourth = a[k + 3];
    to[0] = TW_AS_DOTTED(first), to[1] = TW_AS_DOTTED(second), to[2] = TW_AS_DOTTED(third), to[3] = TW_AS_DOTTED(fourth);
  }
  for (; k % TW_WEIGHTS_OF_WORD || k < inner; k += 4, to += 4 * step) {
    for (int32_t i = 0; i < 4; i++) to[i] = k + i < inner ? TW_AS_DOTTED(a[k + i]) : 0;
  }
}

static void some_rows(const tw_matmul_blocked_params *p, tw_way way, const uint32_t *panel, const int32_t *w,
                      const int32_t *c, const int32_t *mul, const int32_t *add, TW_Y *y, int32_t rows) {
  const int32_t words = tw_weight_words(p, TW_WEIGHTS_OF_WORD);
  for (int32_t column = 0; column < p->columns; column += TW_BLOCK) {
    const uint32_t *const block = (const uint32_t *)w + column * words;
    int32_t own[TW_BLOCK];
    tw_totals total;
    if (rows == TW_PANEL) {
      tw_dots_4(panel, block, words, starts(p, c, column, own), total);
      store(p, way, column, mul, add, total, y + column, TW_PANEL);
    } else {
      tw_dots_1(panel, 1, block, words, starts(p, c, column, own), total);
      store(p, way, column, mul, add, total, y + column, 1);
    }
  }
}

void TW_NAME(const tw_matmul_blocked_params *params, const TW_A *a, const int32_t *w, const int32_t *c,
             const int32_t *mul, const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_blocked_params *const p = params;
  const tw_way way = tw_way_of(p->requantised, &p->requant, add, p->add_step, p->columns, 1);
  uint32_t *const panel = scratch;
  for (int32_t row = 0; row < p->rows;) {
    const int32_t rows = row + TW_PANEL <= p->rows ? TW_PANEL : 1;
    for (int32_t i = 0; i < rows; i++, a += p->inner) as_words(a, p->inner, rows, (int8_t *)(panel + i));
    TW_READY(panel, TW_WEIGHTS_OF_WORD * tw_weight_words(p, TW_WEIGHTS_OF_WORD), rows, rows);
    some_rows(p, way, panel, w, c, mul, add, y, rows);
    row += rows, y += rows * p->columns;
  }
}

#endif
