/* Softmax of rows of bytes by a table of exponentials; all cores together. Where there are fewer rows than cores, each core
 * has a part of every row and adds up the whole of it: that takes less than to wait for each other. */
#include "qlinearsoftmax.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearsoftmax_rows_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "narrow.h"
#include "unit_share.h"

static inline int32_t power(const int32_t *table, int32_t distance) {
  return (int32_t)tw_x_word_at((const uint32_t *)table, distance);
}

static inline int32_t largest_of(const TW_X *x, int32_t count) {
  int32_t largest = x[0];
  for (int32_t i = 1; i < count; i++) largest = tw_x_max(largest, x[i]);
  return largest;
}

/* No exponential has more than 24 bits, and a row less than 256 of them. */
static inline uint32_t total_of(const int32_t *table, int32_t largest, const TW_X *x, int32_t count) {
  uint32_t total = 0;
  for (int32_t i = 0; i < count; i++) total += (uint32_t)power(table, largest - x[i]);
  return total;
}

static TW_COMPACT void share_exactly(const tw_requant *r, const int32_t *table, int32_t largest, int64_t unit,
                                     const TW_X *x, TW_Y *y, int32_t count) {
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)tw_narrow(r, power(table, largest - x[i]) * unit);
}

static inline void share_out(const tw_requant *r, const int32_t *table, int32_t largest, uint64_t unit, const TW_X *x,
                             TW_Y *y, int32_t count) {
  const unit_share u = unit_share_of(r, unit);
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(shared(&u, power(table, largest - x[i])) + r->zero_point);
}

void TW_NAME(const tw_qlinearsoftmax_params *p, const TW_X *x, const int32_t *table, TW_Y *y) {
  const int32_t count = p->count, is_few = p->outer < TW_CORES;
  tw_share rows = {0, p->outer}, columns = {0, count};
  *(is_few ? &columns : &rows) = tw_share_of(is_few ? count : p->outer);
  if (columns.first >= columns.end) return;
  x += rows.first * count;
  y += rows.first * count + columns.first;
  for (int32_t row = rows.first; row < rows.end; row++, x += count, y += count) {
    const int32_t largest = largest_of(x, count), own = columns.end - columns.first;
    const uint64_t unit = unit_of((uint64_t)p->numerator, total_of(table, largest, x, count));
    if (may_tie(unit, p->requant.shift)) {
      share_exactly(&p->requant, table, largest, (int64_t)unit, x + columns.first, y, own);
    } else {
      share_out(&p->requant, table, largest, unit, x + columns.first, y, own);
    }
  }
}
