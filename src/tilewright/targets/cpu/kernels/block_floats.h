/* Products with weights that are floats of 16 bits, panels of [element][row]. A source that includes this says what
 * makes floats of them: TW_LOAD_WEIGHTS, and TW_WEIGHTS_PART where registers may have any length. */
#ifndef TW_BLOCK_FLOATS_H
#define TW_BLOCK_FLOATS_H

#include <stddef.h>

#include "block_lanes.h"
#include "block_product.h"
#include "block_product_sizes.h"

#ifdef TW_DOT_WIDENING
#include "block_floats_widening.h"
#else

#define TW_AHEAD 4096 /* bytes before weights are needed that they are asked for, where few rows read them */
#define TW_TILE_AHEAD 1024 /* the same where many do */
#define TW_PANELS_SIDE_BY_SIDE 4
#if TW_VECTOR_BYTES == 64
#define TW_FLOAT_ROWS 12 /* two panels fill the registers */
#else
#define TW_FLOAT_ROWS 6
#endif
#if TW_VECTOR_BYTES == 16
#define TW_FLOAT_PANELS 1
#else
#define TW_FLOAT_PANELS 2
#endif
#define TW_STEP (2 * TW_PANEL) /* bytes of an element of all rows of a panel */

/* One row, and `panels` panels, a constant, whose sums do not wait for each other. Elements are added in the order in which
 * many rows have them, so that a row has the same result among others. */
TW_INLINE void tw_one_row(const int panels, const tw_block_product_params *p, const uint8_t *panel, const float *x,
                          const float *bias, int32_t columns, float *y) {
  tw_floats sums[TW_PANELS_SIDE_BY_SIDE];
  TW_UNROLL for (int i = 0; i < panels; i++) sums[i] = tw_all_floats(0.0f);
  for (int32_t k = 0; k < p->inner; k++, panel += TW_STEP) {
    TW_UNROLL for (int i = 0; i < panels; i++) {
      const uint8_t *const own = panel + (int64_t)i * p->panel_bytes;
      __builtin_prefetch(own + TW_AHEAD);
      sums[i] += TW_LOAD_WEIGHTS(own) * x[k];
    }
  }
  TW_UNROLL for (int i = 0; i < panels; i++) {
    const float *const start = bias ? bias + i * TW_PANEL : NULL;
    tw_put_rows(1, &sums[i], start, columns - i * TW_PANEL, p->columns, y + i * TW_PANEL);
  }
}

TW_INLINE void tw_few_rows(int rows, const tw_block_product_params *p, const uint8_t *panel, const float *x,
                           const float *bias, int32_t columns, float *y) {
  tw_floats sums[4];
  TW_UNROLL for (int row = 0; row < rows; row++) sums[row] = tw_all_floats(0.0f);
  for (int32_t k = 0; k < p->inner; k++, panel += TW_STEP) {
    const tw_floats w = TW_LOAD_WEIGHTS(panel);
    TW_UNROLL for (int row = 0; row < rows; row++) sums[row] += w * x[(int64_t)row * p->inner + k];
  }
  tw_put_rows(rows, sums, bias, columns, p->columns, y);
}

/* `rows` rows side by side, x[element][row], and TW_FLOAT_PANELS panels, one `apart` bytes
 * behind the other. */
TW_INLINE void tw_tile(int rows, int64_t apart, const tw_block_product_params *p, const uint8_t *w, const float *x,
                       const float *bias, int32_t columns, float *y) {
  tw_floats sums[TW_FLOAT_PANELS][TW_FLOAT_ROWS];
  TW_UNROLL for (int panel = 0; panel < TW_FLOAT_PANELS; panel++) {
    TW_UNROLL for (int row = 0; row < rows; row++) sums[panel][row] = tw_all_floats(0.0f);
  }
  for (int32_t k = 0; k < p->inner; k++, w += TW_STEP, x += rows) {
    tw_floats own[TW_FLOAT_PANELS];
    TW_UNROLL for (int panel = 0; panel < TW_FLOAT_PANELS; panel++) {
      __builtin_prefetch(w + panel * apart + TW_TILE_AHEAD);
      own[panel] = TW_LOAD_WEIGHTS(w + panel * apart);
    }
    TW_UNROLL for (int row = 0; row < rows; row++) {
      TW_UNROLL for (int panel = 0; panel < TW_FLOAT_PANELS; panel++) sums[panel][row] += own[panel] * x[row];
    }
  }
  TW_UNROLL for (int panel = 0; panel < TW_FLOAT_PANELS; panel++) {
    const float *const start = bias ? bias + panel * TW_PANEL : NULL;
    tw_put_rows(rows, sums[panel], start, columns - panel * TW_PANEL, p->columns, y + panel * TW_PANEL);
  }
}

/* Where one panel is left it is multiplied twice: nothing is stored of what lies behind the columns. */
static void tw_rows_of_tile(int32_t rows, int64_t apart, const tw_block_product_params *p, const uint8_t *w,
                            const float *x, const float *bias, int32_t columns, float *y) {
  switch (rows) {
    case TW_FLOAT_ROWS: tw_tile(TW_FLOAT_ROWS, apart, p, w, x, bias, columns, y); return;
#if TW_FLOAT_ROWS > 6
    case 6: tw_tile(6, apart, p, w, x, bias, columns, y); return;
#endif
    case 2: tw_tile(2, apart, p, w, x, bias, columns, y); return;
    default: tw_tile(1, apart, p, w, x, bias, columns, y); return;
  }
}

/* Rows that are side by side, of those that are left. */
static inline int32_t tw_rows_together(int32_t left) {
  return left >= TW_FLOAT_ROWS ? TW_FLOAT_ROWS : left >= 6 ? 6 : left >= 2 ? 2 : 1;
}

static void tw_put_together(const float *x, int32_t inner, int32_t rows, float *to) {
  for (int32_t row = 0; row < rows; row++) {
    for (int32_t k = 0; k < inner; k++) to[(int64_t)k * rows + row] = x[(int64_t)row * inner + k];
  }
}

/* Rows from one on, which are not more than 4. */
static void tw_rows_of_few(const tw_block_product_params *p, const uint8_t *w, const float *x, const float *bias,
                           int32_t columns, int32_t rows, float *y) {
  if (rows == 4) tw_few_rows(4, p, w, x, bias, columns, y);
  else if (rows == 2) tw_few_rows(2, p, w, x, bias, columns, y);
  else tw_one_row(1, p, w, x, bias, columns, y);
}

static void tw_product_of_few(const tw_block_product_params *p, const float *x, const uint8_t *w, const float *bias,
                              float *y, tw_share_of_product share) {
  for (int32_t panel = share.first_panel, together; panel < share.last_panel; panel += together) {
    const int32_t column = panel * TW_PANEL, columns = p->columns - column;
    const uint8_t *const own = w + (int64_t)panel * p->panel_bytes;
    const float *const start = bias ? bias + column : NULL;
    together = p->rows == 1 && panel + TW_PANELS_SIDE_BY_SIDE <= share.last_panel ? TW_PANELS_SIDE_BY_SIDE : 1;
    if (together > 1) tw_one_row(TW_PANELS_SIDE_BY_SIDE, p, own, x, start, columns, y + column);
    for (int32_t row = 0, count; together == 1 && row < p->rows; row += count) {
      count = p->rows - row >= 4 ? 4 : p->rows - row >= 2 ? 2 : 1;
      tw_rows_of_few(p, own, x + (int64_t)row * p->inner, start, columns, count, y + (int64_t)row * p->columns + column);
    }
  }
}

static void tw_product_of_many(const tw_block_product_params *p, const float *x, const uint8_t *w, const float *bias,
                               float *y, float *together, tw_share_of_product share) {
  const int32_t panels = share.last_panel, most = tw_float_rows_at_a_time(p->inner);
  for (int32_t start = share.first_row; start < share.last_row; start += most) {
    const int32_t end = tw_min(start + most, share.last_row);
    for (int32_t row = start, count; row < end; row += count) {
      count = tw_rows_together(end - row);
      tw_put_together(x + (int64_t)row * p->inner, p->inner, count, together + (int64_t)(row - start) * p->inner);
    }
    for (int32_t panel = share.first_panel; panel < panels; panel += TW_FLOAT_PANELS) {
      const int32_t own = tw_min(TW_FLOAT_PANELS, panels - panel), column = panel * TW_PANEL;
      for (int32_t row = start, count; row < end; row += count) {
        count = tw_rows_together(end - row);
        tw_rows_of_tile(count, own < TW_FLOAT_PANELS ? 0 : p->panel_bytes, p, w + (int64_t)panel * p->panel_bytes,
                        together + (int64_t)(row - start) * p->inner, bias ? bias + column : NULL,
                        tw_min(p->columns - column, own * TW_PANEL), y + (int64_t)row * p->columns + column);
      }
    }
  }
}

void TW_NAME(const tw_block_product_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const tw_share_of_product share = tw_own_share(params, (params->columns + TW_PANEL - 1) / TW_PANEL);
  if (params->rows <= TW_FEW_ROWS) tw_product_of_few(params, x, w, bias, y, share);
  else tw_product_of_many(params, x, w, bias, y, scratch, share);
}

#endif /* TW_DOT_WIDENING */
#endif
