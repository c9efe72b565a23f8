/* Matrix product of 8-bit integers, b stored column by column; int32 totals, optionally requantised.
 * Each result is the product of two contiguous rows, the one of a widened to int16 beforehand. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_dot_int8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "matmul.h"
#include "matmul_store.h"

static uint32_t dot(const int16_t *a, const TW_B *b, int32_t count) {
  uint32_t sum = 0;
  for (int32_t k = 0; k < count; k++) sum += (uint32_t)((int32_t)a[k] * b[k]);
  return sum;
}

/* a's row without its zero point; returns what b's zero point adds to each total of the row. */
static uint32_t widen(const tw_matmul_params *p, const TW_A *a, int16_t *restrict wide) {
  const int32_t zero = p->a_zero, step = p->a_column;
  uint32_t sum = 0;
  for (int32_t k = 0; k < p->inner; k++) {
    wide[k] = (int16_t)(a[k * step] - zero);
    sum += (uint32_t)wide[k];
  }
  return sum * (uint32_t)p->b_zero;
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  int16_t *const wide = scratch;
  const int32_t inner = params->inner, columns = params->columns;
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  do {
    for (int32_t row = 0; row < params->rows; row++) {
      TW_Y *const to = y + at.y + row * params->y_row;
      const uint32_t excess = widen(params, a + at.a + row * params->a_row, wide);
      for (int32_t column = 0; column < columns; column += TW_COLUMNS_STORED) {
        uint32_t total[TW_COLUMNS_STORED];
        const int32_t count = tw_min(TW_COLUMNS_STORED, columns - column);
        for (int32_t i = 0; i < count; i++) {
          total[i] = dot(wide, b + at.b + (column + i) * params->b_column, inner) - excess;
        }
        tw_matmul_store(params, c ? c + at.c : 0, mul, add, row, column, total, to + column, count);
      }
    }
  } while (tw_batch_next(params, &at));
}
