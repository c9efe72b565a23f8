/* Shares of each row of bytes, all cores together. The exponential of a distance from the largest element is looked up; shares
 * are products with the reciprocal of a row's total. */
#include "isoftmax_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "exact_quotients.h"
#include "largest_byte.h"
#include "own_rows.h"

/* Of an element, where the table is that of the row's largest one. */
#define EXPONENTIAL(table, word, lane) tw_x_word_at(table, TW_LANE(TW_X, word, lane))

static uint32_t total_of(const uint32_t *table, const TW_X *x, int32_t length) {
  uint32_t total = 0;
  if (tw_begins_word(x)) {
    for (; length >= 4; length -= 4, x += 4) {
      const uint32_t word = *(const uint32_t *)(const void *)x;
      const uint32_t e0 = EXPONENTIAL(table, word, 0), e1 = EXPONENTIAL(table, word, 1);
      const uint32_t e2 = EXPONENTIAL(table, word, 2), e3 = EXPONENTIAL(table, word, 3);
      total += e0 + e1 + (e2 + e3);
    }
  }
  for (; length > 0; length--) total += tw_x_word_at(table, *x++);
  return total;
}

static inline void four(const tw_share_tables *tables, const uint32_t *table, tw_divisor total, uint32_t word, uint32_t *x) {
  TW_EACH_LANE(i) x[i] = EXPONENTIAL(table, word, i);
  TW_EACH_LANE(i) x[i] *= (uint32_t)tables->top;
  tw_divide_lanes(x, total);
  TW_EACH_LANE(i) x[i] = (uint32_t)tw_x_byte_at(tables->results, (int32_t)x[i]);
}

static void part_of_row(const tw_share_tables *tables, const uint32_t *table, tw_divisor total, const TW_X *x, TW_Y *y,
                        int32_t count) {
  uint32_t results[4];
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, y += 4) {
      four(tables, table, total, *(const uint32_t *)(const void *)x, results);
      *(uint32_t *)(void *)y = tw_four_bytes((int32_t)results[0], (int32_t)results[1], (int32_t)results[2], (int32_t)results[3]);
    }
  }
  for (; count > 0; count--) { /* one at a time: exponentials of others may not be in the table */
    four(tables, table, total, TW_EVERY_LANE * (uint8_t)*x++, results);
    *y++ = (TW_Y)results[0];
  }
}

void TW_NAME(const tw_isoftmax_bytes_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length;
  const tw_rows mine = tw_rows_of(params->rows, length);
  if (mine.first >= mine.end) return;
  for (int32_t row = mine.first_row; row < mine.end_row; row++) {
    const TW_X *const from = x + row * length;
    const uint32_t *const table = params->tables.exponentials + 255 - tw_largest_byte(from, length);
    const tw_divisor total = tw_divisor_of(total_of(table, from, length));
    part_of_row(&params->tables, table, total, from + mine.first, y + row * length + mine.first, mine.end - mine.first);
  }
}
