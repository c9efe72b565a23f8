/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred; all cores
 * together. An integer product takes five cycles here and a double one: bytes become doubles by a table, and every number of
 * an element is exact in them, but for those that are clipped anyway. */
#include "qlinearrownorm.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_doubles_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "exact_doubles.h"

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31

/* What all rows share, and room for one row of each core. */
typedef struct {
  double *of_byte, *factor, *summand, *row;
} tables;

static tables tables_in(double *scratch, int32_t length) {
  /* Rows of cores begin in different banks. */
  double *const rows = scratch + 256 + 2 * length;
  const tables t = {scratch, scratch + 256, scratch + 256 + length, rows + tw_core() * (length + 1)};
  return t;
}

/* Halves go up where they would go to the even neighbour otherwise: by less than the smallest difference. */
static void fill(const tables *t, const tw_qlinearrownorm_params *p, const int32_t *mul, const int32_t *add) {
  const double unit = tw_power(-p->requant.shift), lifted = tw_power(p->lift - p->requant.shift);
  const double tie = p->requant.rounding == TW_HALF_EVEN ? 0.0 : unit * 0.5;
  const tw_share bytes = tw_share_of(256), columns = tw_share_of(p->length);
  for (int32_t i = bytes.first; i < bytes.end; i++) t->of_byte[i] = (double)((int32_t)(TW_X)i - p->x_zero);
  for (int32_t i = columns.first; i < columns.end; i++) {
    t->factor[i] = (double)mul[i] * unit;
    t->summand[i] = (double)add[i] * lifted + tie;
  }
}

typedef struct {
  double sum, inverse, tie;
} row_scale;

static row_scale scale_of(const tw_qlinearrownorm_params *p, double sum, double squares) {
  const uint64_t one = (uint64_t)1 << p->fraction;
  if (!p->centred) sum = 0.0;
  uint64_t spread = (tw_integer(squares * (double)p->length - sum * sum) << p->fraction) + (uint64_t)p->epsilon;
  /* Less than one only where all elements are the same: whatever they are divided by, zero is zero. */
  if (spread < one) spread = one;
  const int32_t pairs = (tw_leading_zeros(spread) - 2) / 2;
  const uint32_t inverse = tw_quotient((uint64_t)1 << (2 * ROOT_BITS - 1), tw_root64(spread << (2 * pairs)));
  const double unit = tw_power(-(2 * ROOT_BITS - 1 - UNIT_BITS - p->fraction / 2 - pairs));
  const row_scale scale = {sum, (double)inverse * unit, unit * 0.5};
  return scale;
}

/* Four elements go side by side: each step of one takes as long as four. */
#define FOUR(j) for (int32_t j = 0; j < 4; j++)

/* Rows of doubles are stored on the way, so that nothing waits for the unit. */
static row_scale measure(const tw_qlinearrownorm_params *p, const tables *t, const TW_X *x) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0}, squares[4] = {0.0, 0.0, 0.0, 0.0};
  int32_t i = 0;
  for (; i + 4 <= p->length; i += 4) {
    uint8_t bytes[4];
    double value[4];
    FOUR(j) bytes[j] = (uint8_t)x[i + j];
    FOUR(j) value[j] = t->of_byte[bytes[j]];
    FOUR(j) t->row[i + j] = value[j];
    FOUR(j) sum[j] += value[j];
    FOUR(j) squares[j] = tw_fma(value[j], value[j], squares[j]);
  }
  for (; i < p->length; i++) {
    const double value = t->of_byte[(uint8_t)x[i]];
    t->row[i] = value;
    sum[0] += value;
    squares[0] = tw_fma(value, value, squares[0]);
  }
  return scale_of(p, sum[0] + sum[1] + (sum[2] + sum[3]), squares[0] + squares[1] + (squares[2] + squares[3]));
}

static void scale_row(const tables *t, int32_t length, const row_scale *s) {
  const double n = (double)length, sum = -s->sum, inverse = s->inverse, tie = s->tie;
  const double *factor = t->factor, *summand = t->summand;
  double *row = t->row;
  int32_t left = length;
  for (; left >= 4; left -= 4, row += 4, factor += 4, summand += 4) {
    double v[4];
    FOUR(j) v[j] = tw_fma(row[j], n, sum);
    TW_TOGETHER(v);
    FOUR(j) v[j] = tw_fma(v[j], inverse, tie);
    TW_TOGETHER(v);
    FOUR(j) v[j] += TW_ROUNDER;
    TW_TOGETHER(v);
    FOUR(j) v[j] -= TW_ROUNDER;
    TW_TOGETHER(v);
    FOUR(j) v[j] = tw_fma(v[j], factor[j], summand[j]);
    TW_TOGETHER(v);
    FOUR(j) row[j] = v[j] + TW_ROUNDER;
  }
  for (; left > 0; left--, row++) {
    const double unit = tw_fma(tw_fma(*row, n, sum), inverse, tie);
    *row = tw_fma((unit + TW_ROUNDER) - TW_ROUNDER, *factor++, *summand++) + TW_ROUNDER;
  }
}

static void store_row(const tw_requant *r, const double *row, TW_Y *y, int32_t length) {
  const int32_t zero = r->zero_point, low = r->low - zero, high = r->high - zero;
  int32_t i = 0;
  for (; i + 4 <= length; i += 4) {
    int32_t v[4];
    FOUR(j) v[j] = tw_rounded(row + i + j);
    FOUR(j) if (v[j] < low) v[j] = low;
    FOUR(j) if (v[j] > high) v[j] = high;
    FOUR(j) y[i + j] = (TW_Y)(v[j] + zero);
  }
  for (; i < length; i++) {
    const int32_t value = tw_rounded(row + i);
    y[i] = (TW_Y)((value < low ? low : value > high ? high : value) + zero);
  }
}

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y,
             void *scratch) {
  const tw_qlinearrownorm_params p = *params;
  const tables t = tables_in(scratch, p.length);
  const tw_share share = tw_share_of(p.rows);
  fill(&t, &p, mul, add);
  tw_barrier();
  for (int32_t row = share.first; row < share.end; row++) {
    const row_scale scale = measure(&p, &t, x + row * p.length);
    scale_row(&t, p.length, &scale);
    store_row(&p.requant, t.row, y + row * p.length, p.length);
  }
}
