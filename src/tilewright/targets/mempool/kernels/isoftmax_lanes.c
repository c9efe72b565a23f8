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

static inline int32_t share(const tw_share_tables *tables, uint32_t exponential, tw_divisor total) {
  return tw_x_byte_at(tables->results, (int32_t)tw_quotient(exponential * (uint32_t)tables->top, total));
}

static void part_of_row(const tw_share_tables *tables, const uint32_t *table, tw_divisor total, const TW_X *x, TW_Y *y,
                        int32_t count) {
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, y += 4) {
      const uint32_t word = *(const uint32_t *)(const void *)x;
      const uint32_t e0 = EXPONENTIAL(table, word, 0), e1 = EXPONENTIAL(table, word, 1);
      const uint32_t e2 = EXPONENTIAL(table, word, 2), e3 = EXPONENTIAL(table, word, 3);
      *(uint32_t *)(void *)y = tw_four_bytes(share(tables, e0, total), share(tables, e1, total), share(tables, e2, total),
                                             share(tables, e3, total));
    }
  }
  for (; count > 0; count--) *y++ = (TW_Y)share(tables, tw_x_word_at(table, *x++), total);
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
