/* y = requant(sum(x - x_zero) * mul / count) over axes before the last one: rows are added up, some columns at a time */
#include "qlinear_mean.h"
#include "qlinearreducemean_last.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_last
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define COLUMNS 64
#define ROWS 128 /* bytes whose sum fits 16 bits */

static inline void add_rows(const TW_X *x, int32_t rows, int32_t pitch, int32_t columns, int32_t *restrict total) {
  int16_t some[COLUMNS] = {0};
  for (int32_t r = 0; r < rows; r++, x += pitch) {
    for (int32_t c = 0; c < columns; c++) some[c] = (int16_t)(some[c] + x[c]);
  }
  for (int32_t c = 0; c < columns; c++) total[c] += some[c];
}

static void add_columns(const tw_qlinearreducemean_last_params *p, const TW_X *x, int32_t columns, TW_Y *y) {
  int32_t total[COLUMNS] = {0};
  for (int32_t done = 0; done < p->rows; done += ROWS) {
    const TW_X *const from = x + (int64_t)done * p->columns;
    const int32_t rows = tw_min(ROWS, p->rows - done);
    if (columns == COLUMNS) {
      add_rows(from, rows, p->columns, COLUMNS, total);
    } else {
      add_rows(from, rows, p->columns, columns, total);
    }
  }
  for (int32_t c = 0; c < columns; c++) {
    y[c] = (TW_Y)tw_mean(&p->requant, total[c] - p->rows * p->x_zero, p->rows, p->mul);
  }
}

void TW_NAME(const tw_qlinearreducemean_last_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearreducemean_last_params p = *params;
  for (int32_t o = 0; o < p.outer; o++, x += (int64_t)p.rows * p.columns, y += p.columns) {
    for (int32_t c = 0; c < p.columns; c += COLUMNS) add_columns(&p, x + c, tw_min(COLUMNS, p.columns - c), y + c);
  }
}
