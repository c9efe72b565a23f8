/* Matrix product of 8-bit integers with at most three rows, int32 totals, optionally requantised; all cores together.
 * b is stored column by column. Such a product is soon over, so that little may be done before its first column:
 * totals are always clipped before they are requantised, and nothing is looked at to see whether that is needed. */
#ifndef TW_NAME
#define TW_NAME tw_matvec_dots
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#define TW_Y_IS_WIDE (sizeof(TW_Y) == 2)

#include "cluster.h"
#include "columns.h"
#include "dots_row.h"
#include "matmul.h"
#include "requant_words.h"

typedef struct {
  const tw_matmul_params *p;
  const int32_t *mul, *add;
  tw_dots_rows dots;
  tw_columns columns;
} work;

static TW_COMPACT void choose(work *k, int32_t column) {
  const tw_matmul_params *const p = k->p;
  if (!p->requantised) return;
  tw_columns_choose(&k->columns, &p->requant, k->mul + column * p->mul_column, p->mul_column,
                    k->add ? k->add + column * p->add_column : 0, p->add_column, INT32_MAX, TW_Y_SIGNED);
}

/* Whether columns that differ only in their factors are requantised by the high words of their products, all of them: then
 * a strip of them has but its factors to look up. */
static TW_COMPACT int all_high(work *k, int32_t strip, int32_t count, int32_t strips) {
  const tw_matmul_params *const p = k->p;
  const tw_requant *const r = &p->requant;
  if (!p->requantised || k->add || !p->mul_column || !tw_clips_at_once(r, TW_Y_SIGNED)) return 0;
  int32_t zeros = 0;
  for (; count > 0; count--, strip = strip + 1 < strips ? strip + 1 : 0) {
    const int32_t *const mul = k->mul + tw_min(4 * strip, p->columns - 4);
    for (int f = 0; f < 4; f++) zeros = tw_x_max(zeros, tw_x_ff1((uint32_t)mul[f]));
  }
  const int32_t offset = tw_high_offset(&k->columns, r, zeros, 0, INT32_MAX);
  for (int f = 0; f < 4; f++) k->columns.add[f] = offset;
  k->columns.high = r->high;
  return k->columns.mode == TW_HIGH;
}

/* Results of 16 bits. Their totals must be known to be small, with what each column begins with; matrices of a batch may
 * begin with something else. */
#define TW_LARGEST_PRODUCT ((TW_A_SIGNED ? 128u : 255u) * (TW_B_SIGNED ? 128u : 255u))
static TW_COMPACT void choose_wide(work *k, int32_t strip, int32_t count, int32_t strips, const int32_t *c, int32_t batches) {
  const tw_matmul_params *const p = k->p;
  const uint32_t most = (uint32_t)p->inner * (TW_LARGEST_PRODUCT + tw_magnitude(p->a_zero) * (TW_B_SIGNED ? 128u : 255u));
  uint32_t begins = 0;
  k->columns.mode = TW_EXACT;
  if (k->add || (c && batches > 1)) return;
  for (; c && count > 0; count--, strip = strip + 1 < strips ? strip + 1 : 0) {
    const int32_t *const first = c + tw_min(4 * strip, p->columns - 4) * p->c_column;
    for (int32_t f = 0; f < 4; f++) begins |= tw_magnitude(first[f * p->c_column]);
  }
  if (begins >> 30 || most >> 30) return;
  const int32_t offset = tw_wide_offset(&k->columns, &p->requant, 0, most + begins);
  for (int f = 0; f < 4; f++) k->columns.add[f] = offset;
}

/* What a's zero point adds to the total of a column. */
static TW_COMPACT int32_t excess_of(const tw_matmul_params *p, const TW_B *b) {
  int32_t sum = 0, left = p->inner;
  for (; left >= 4; left -= 4, b += 4) sum = tw_dot(sum, tw_x_load(b), 0x01010101u, TW_B_SIGNED, 1);
  for (; left > 0; left--) sum += *b++;
  return p->a_zero * sum;
}

static TW_COMPACT void store_exactly(const work *k, int32_t column, const int32_t *total, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  for (int f = 0; f < 4; f++) {
    const int32_t summand = k->add ? k->add[(column + f) * p->add_column] : 0;
    y[f] = (TW_Y)tw_requantise_words(&p->requant, total[f], k->mul[(column + f) * p->mul_column], summand);
  }
}

/* Four columns from `column` on, of all rows. */
static inline void strip(const work *k, const TW_A *a, const TW_B *b, const int32_t *c, int32_t column, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  const tw_columns *const r = &k->columns;
  int32_t init[4] = {0, 0, 0, 0};
  b += column * p->inner;
  if (c) {
    const int32_t step = p->c_column;
    c += column * step;
    init[0] = c[0], init[1] = c[step], init[2] = c[2 * step], init[3] = c[3 * step];
  }
  if (p->a_zero) {
    for (int f = 0; f < 4; f++) init[f] -= excess_of(p, b + f * p->inner);
  }
  for (int32_t row = 0; row < p->rows; row++, a += p->a_row, y += p->y_row) {
    int32_t total[4] = {init[0], init[1], init[2], init[3]};
    tw_dots_row(&k->dots, a, b, total, TW_A_SIGNED, TW_B_SIGNED);
    if (r->mode == TW_EXACT) {
      store_exactly(k, column, total, y + column);
      continue;
    }
    for (int f = 0; f < 4; f++) {
      int32_t value = total[f];
      if (TW_Y_IS_WIDE) {
        y[column + f] = (TW_Y)tw_wide_finish(r, value, f);
        continue;
      }
      if (r->mode == TW_HIGH) {
        value = tw_x_addn((int32_t)((int64_t)value * r->mul[f] >> 32), (uint32_t)r->add[f], (uint32_t)r->shift);
      } else if (r->mode != TW_PLAIN) {
        value = tw_x_mac(r->add[f], tw_x_clip(value, r->bound), r->mul[f]) >> r->shift;
      }
      if (r->mode != TW_PLAIN) value = TW_Y_SIGNED ? tw_x_clip(value, r->high) : tw_x_clipu(value, r->high);
      y[column + f] = (TW_Y)value;
    }
  }
}

/* Some strips of one row, where all columns are requantised alike and in 32 bits. */
static __attribute__((noinline)) void narrow_row(const work *k, const TW_A *a, const TW_B *b, const int32_t *c,
                                                 int32_t strip, int32_t end, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  const int32_t mul = k->columns.mul[0], add = k->columns.add[0], bound = k->columns.bound;
  const int32_t shift = k->columns.shift, high = k->columns.high, c_step = c ? p->c_column : 0;
  for (; strip < end; strip++) {
    const int32_t column = tw_min(4 * strip, p->columns - 4);
    int32_t total[4] = {0, 0, 0, 0};
    if (c) {
      const int32_t *const bias = c + column * c_step;
      total[0] = bias[0], total[1] = bias[c_step], total[2] = bias[2 * c_step], total[3] = bias[3 * c_step];
    }
    tw_dots_row(&k->dots, a, b + column * p->inner, total, TW_A_SIGNED, TW_B_SIGNED);
    for (int f = 0; f < 4; f++) {
      const int32_t value = tw_x_mac(add, tw_x_clip(total[f], bound), mul) >> shift;
      y[column + f] = (TW_Y)(TW_Y_SIGNED ? tw_x_clip(value, high) : tw_x_clipu(value, high));
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_matmul_params *const p = params;
  const int32_t strips = (p->columns + 3) >> 2, by_column = p->mul_column | p->add_column;
  int32_t batches = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) batches *= p->size[axis];
  const tw_share share = tw_share_of(batches * strips);
  int32_t next = share.first, left = share.end - next;
  if (left <= 0) return;
  work k;
  k.p = p, k.mul = mul, k.add = add;
  tw_columns_plain(&k.columns);
  tw_dots_rows_length(&k.dots, p->inner, p->inner);
  if (!by_column && !TW_Y_IS_WIDE) choose(&k, 0);
  tw_batch at;
  at.a = at.b = at.c = at.y = 0;
  for (int32_t axis = 0; axis < p->rank; axis++) at.at[axis] = 0;
  for (; next >= strips; next -= strips) tw_batch_next(p, &at);
  const int is_narrow = !by_column && !p->a_zero && p->requantised && k.columns.mode <= TW_CLIPPED;
  while (is_narrow && left > 0) {
    const int32_t count = tw_min(left, strips - next);
    for (int32_t row = 0; row < p->rows; row++) {
      narrow_row(&k, a + at.a + row * p->a_row, b + at.b, c ? c + at.c : 0, next, next + count, y + at.y + row * p->y_row);
    }
    left -= count;
    next = 0;
    if (left > 0) tw_batch_next(p, &at);
  }
  const int is_high = !TW_Y_IS_WIDE && by_column && all_high(&k, next, left, strips);
  if (TW_Y_IS_WIDE) choose_wide(&k, next, left, strips, c, batches);
  for (; left > 0; left--) {
    const int32_t column = tw_min(4 * next, p->columns - 4);
    if (is_high || TW_Y_IS_WIDE) {
      for (int f = 0; f < 4; f++) k.columns.mul[f] = mul[(column + f) * p->mul_column];
    } else if (by_column) {
      choose(&k, column);
    }
    strip(&k, a + at.a, b + at.b, c ? c + at.c : 0, column, y + at.y);
    if (++next < strips) continue;
    next = 0;
    tw_batch_next(p, &at);
  }
}
