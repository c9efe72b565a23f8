/* Matrix product of 8-bit integers, int32 totals, optionally requantised.
 * b is taken as an unsigned byte (int8 is moved up by 128); conv_int8.c says why. What that and b's zero point add to
 * the totals of a row is (128 + b_zero) * sum(a - a_zero), subtracted from the start. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_int8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_B_OFFSET ((TW_B)-1 < 0 ? 128 : 0)
#define TW_TOTAL uint32_t
#define TW_FACTOR int16_t
#define TW_INTO_FACTOR(p, x) ((int16_t)((x) - (p)->a_zero))
#define TW_ADD_PRODUCT(total, factor, x) ((total) += (uint32_t)((int32_t)(uint8_t)((x) + TW_B_OFFSET) * (factor)))
#define TW_PANEL_ROWS TW_BYTE_ROWS

#include "matmul.h"
#include "matmul_blocks.h"
#include "matmul_store.h"

/* The totals of a row before the first product. */
static uint32_t start_of_row(const tw_matmul_params *p, const TW_A *a) {
  uint32_t sum = 0;
  for (int32_t k = 0; k < p->inner; k++) sum += (uint32_t)(a[k * p->a_column] - p->a_zero);
  return 0 - sum * (uint32_t)(p->b_zero + TW_B_OFFSET);
}

static void one_product(const tw_matmul_params *p, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
                        const int32_t *add, TW_Y *y, TW_B *panel) {
  const int32_t columns = tw_min(TW_COLUMNS, p->columns);
  for (int32_t next = 0; next < p->columns; next += TW_COLUMNS) {
    const int32_t column = tw_block_start(p, next);
    for (int32_t row = 0; row < p->rows; row += TW_ROWS) {
      const int32_t rows = tw_min(TW_ROWS, p->rows - row);
      uint32_t total[TW_ROWS][TW_COLUMNS];
      for (int32_t r = 0; r < rows; r++) {
        const uint32_t start = start_of_row(p, a + (row + r) * p->a_row);
        for (int32_t i = 0; i < TW_COLUMNS; i++) total[r][i] = start;
      }
      tw_multiply(p, a + row * p->a_row, b + column * p->b_column, rows, columns, row == 0, panel, total);
      for (int32_t r = 0; r < rows; r++) {
        TW_Y *to = y + (row + r) * p->y_row + column;
        tw_matmul_store(p, c, mul, add, row + r, column, total[r], to, columns);
      }
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  do {
    one_product(params, a + at.a, b + at.b, c ? c + at.c : 0, mul, add, y + at.y, scratch);
  } while (tw_batch_next(params, &at));
}
