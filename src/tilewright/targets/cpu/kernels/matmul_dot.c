/* Matrix product of bytes that are both computed; int32 totals, optionally requantised.
 *
 * Some columns of b are packed as dot.h says, then every row of a meets them. Unsigned bytes are multiplied as signed
 * ones, with 128 less. What zero points add to totals is known from sums of rows and columns:
 * sum((a - z) * (b - u)) = sum(a * b) - z * sum(b) - u * sum(a) + inner * z * u. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_dot
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "conv_dot_sizes.h"
#include "dot.h"

#define TW_FLIP_OF(type) (TW_IS_UNSIGNED(type) ? 0x80 : 0)

/* What is the same for all matrices of a batch. */
typedef struct {
  const tw_matmul_params *p;
  tw_way way;
  int32_t length;         /* of a row, as whole fours */
  int32_t zero_a, zero_b; /* of the signed bytes */
  const int32_t *mul, *add;
  int8_t *panel, *rows, *ones;
  int32_t *start, *factor, *summand; /* of the columns of the panel */
} work;

/* ---- columns ---- */

static int8_t signed_byte(TW_B b) { return (int8_t)((uint8_t)b ^ TW_FLIP_OF(TW_B)); }

/* A block of columns, one by one; what is missing is zero. */
static void pack_plainly(const tw_matmul_params *p, const TW_B *b, int32_t columns, int8_t *to) {
  for (int32_t i = 0; i < p->inner; i += 4, to += TW_STEP) {
    memset(to, 0, TW_STEP);
    for (int32_t c = 0; c < columns; c++) {
      const TW_B *const from = b + (int64_t)c * p->b_column + (int64_t)i * p->b_row;
      for (int32_t k = 0; k < 4 && i + k < p->inner; k++) {
        to[TW_PLACE(c, k)] = signed_byte(from[(int64_t)k * p->b_row]);
      }
    }
  }
}

/* Two whole blocks whose columns lie side by side. */
static void pack_rows(const tw_matmul_params *p, const TW_B *b, int8_t *to, int64_t block) {
  const int8_t *from = (const int8_t *)b;
  static const int8_t nothing[2 * TW_COLUMNS];
  int32_t i = 0;
  for (; i < p->inner; i += 4, from += 4 * (int64_t)p->b_row, to += TW_STEP) {
    const int8_t *x[4];
    for (int32_t k = 0; k < 4; k++) x[k] = i + k < p->inner ? from + (int64_t)k * p->b_row : nothing;
    tw_taps_store(tw_taps_of(2, x, TW_FLIP_OF(TW_B)), to, to + block);
  }
}

/* A whole block whose rows lie side by side. */
static void pack_columns(const tw_matmul_params *p, const TW_B *b, int8_t *to) {
  const int32_t whole = p->inner / 4 * 4;
  for (int32_t i = 0; i < whole; i += 4, to += TW_STEP) {
    TW_UNROLLED for (int c = 0; c < TW_COLUMNS; c++) {
      uint32_t four;
      memcpy(&four, b + (int64_t)c * p->b_column + i, 4);
      four ^= TW_IS_UNSIGNED(TW_B) ? 0x80808080u : 0;
      memcpy(to + 4 * c, &four, 4);
    }
  }
  if (whole == p->inner) return;
  memset(to, 0, TW_STEP);
  for (int32_t c = 0; c < TW_COLUMNS; c++) {
    for (int32_t k = 0; whole + k < p->inner; k++) to[4 * c + k] = signed_byte(b[(int64_t)c * p->b_column + whole + k]);
  }
}

static void pack(const work *k, const TW_B *b, int32_t columns) {
  const tw_matmul_params *const p = k->p;
  const int64_t block = (int64_t)k->length * TW_COLUMNS;
  for (int32_t done = 0; done < columns;) {
    const TW_B *const from = b + (int64_t)done * p->b_column;
    int8_t *const to = k->panel + done / TW_COLUMNS * block;
    if (p->b_column == 1 && columns - done >= 2 * TW_COLUMNS) {
      pack_rows(p, from, to, block);
      done += 2 * TW_COLUMNS;
      continue;
    }
    if (p->b_row == 1 && columns - done >= TW_COLUMNS && TW_PLACE(0, 1) == 1) {
      pack_columns(p, from, to);
    } else {
      pack_plainly(p, from, tw_min(TW_COLUMNS, columns - done), to);
    }
    done += TW_COLUMNS;
  }
}

/* Values of some columns: neighbours, or one for all; nothing behind them. */
static void spread(const int32_t *from, int32_t step, int32_t count, int32_t *to) {
  const int32_t value = from ? *from : 0;
  int32_t i = 0;
  if (from && step) {
    for (; i < count; i++) to[i] = from[i * step];
  } else {
    for (; i < count; i++) to[i] = value;
  }
  for (; i % TW_COLUMNS; i++) to[i] = 0;
}

/* Biases, factors and summands of some columns. */
static void spread_columns(const work *k, const int32_t *c, int32_t column, int32_t columns) {
  const tw_matmul_params *const p = k->p;
  spread(c ? c + column * p->c_column : NULL, p->c_column, columns, k->start);
  if (!p->requantised) return;
  spread(k->mul + column * p->mul_column, p->mul_column, columns, k->factor);
  spread(k->add ? k->add + column * p->add_column : NULL, p->add_column, columns, k->summand);
}

/* The totals of the columns of the panel before the first product. */
static void find_starts(const work *k, int32_t columns) {
  const tw_matmul_params *const p = k->p;
  if (!k->zero_a) return;
  const int8_t *const x[1] = {k->ones};
  for (int32_t done = 0; done < columns; done += TW_COLUMNS) {
    int32_t sums[TW_COLUMNS] = {0};
    tw_sums t[TW_ROWS];
    t[0] = tw_sums_load(sums);
    tw_multiply(1, t, x, k->length, k->panel + (int64_t)done * k->length, 0);
    tw_sums_store(sums, t[0]);
    for (int32_t i = 0; i < TW_COLUMNS; i++) k->start[done + i] -= k->zero_a * (sums[i] - p->inner * k->zero_b);
  }
}

/* ---- rows ---- */

/* Some rows of a. */
typedef struct {
  const int8_t *at[TW_ROWS];
  int32_t term[TW_ROWS]; /* that b's zero point adds */
} lines;

static const int8_t *row_of(const work *k, const TW_A *a, int8_t *copy) {
  const int32_t inner = k->p->inner, step = k->p->a_column;
  if (step == 1 && inner == k->length) return (const int8_t *)a;
  for (int32_t i = 0; i < inner; i++) copy[i] = (int8_t)a[(int64_t)i * step];
  for (int32_t i = inner; i < k->length; i++) copy[i] = (int8_t)TW_FLIP_OF(TW_A);
  return copy;
}

static int32_t sum_of(const int8_t *x, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += (int8_t)(x[i] ^ TW_FLIP_OF(TW_A));
  return sum;
}

/* The last rows stand for those that are missing. */
static lines lines_of(const work *k, const TW_A *a, int32_t rows) {
  lines made;
  for (int32_t r = 0; r < TW_ROWS; r++) {
    const int32_t row = tw_min(r, rows - 1);
    made.at[r] = row < r ? made.at[row] : row_of(k, a + (int64_t)row * k->p->a_row, k->rows + row * k->length);
    made.term[r] = row < r || !k->zero_b ? 0 : -k->zero_b * sum_of(made.at[r], k->length);
  }
  return made;
}

/* ---- products ---- */

static void store_any(const work *k, int32_t column, int32_t count, const int32_t *total, TW_Y *y) {
  const tw_requant requant = k->p->requant;
  for (int32_t i = 0; i < count; i++) {
    const int32_t factor = k->p->requantised ? k->factor[column + i] : 1;
    y[i] = (TW_Y)(k->p->requantised ? tw_requantise(&requant, total[i], factor, k->summand[column + i]) : total[i]);
  }
}

/* Another way than the most common: totals have left their registers. */
TW_APART void scale_rows(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, const tw_sums *t, TW_Y *y,
                         int64_t pitch) {
  for (int r = 0; r < rows; r++, y += pitch) tw_scale_rows(way, 1, s, f, TW_IS_UNSIGNED(TW_Y), t + r, y, 0);
}

/* Rows of totals of a block of columns, of which some are wanted. */
TW_ALWAYS void store_block(int rows, const work *k, const tw_sums *t, int32_t wanted, int32_t column, int32_t count,
                           TW_Y *y) {
  const int64_t pitch = k->p->y_row;
  const int is_whole = wanted == rows && count == TW_COLUMNS;
  if (sizeof(TW_Y) == 1 && k->way != TW_ANY_WAY) {
    const tw_scaler scaler = tw_scaler_of(&k->p->requant);
    const tw_factors factors = tw_factors_of(&scaler, k->factor + column, k->add ? k->summand + column : NULL);
    TW_Y some[TW_ROWS * TW_COLUMNS];
    TW_Y *const to = is_whole ? y : some;
    const int64_t step = is_whole ? pitch : TW_COLUMNS;
    if (TW_IS_NEAR(k->way)) {
      tw_scale_near(k->way, rows, &scaler, &factors, TW_IS_UNSIGNED(TW_Y), t, to, step);
    } else {
      tw_sums all[TW_ROWS];
      TW_UNROLLED for (int r = 0; r < rows; r++) all[r] = t[r];
      scale_rows(k->way, rows, &scaler, &factors, all, to, step);
    }
    if (is_whole) return;
    for (int32_t r = 0; r < wanted; r++) memcpy(y + r * pitch, some + r * TW_COLUMNS, (size_t)count);
    return;
  }
  int32_t totals[TW_ROWS * TW_COLUMNS];
  TW_UNROLLED for (int r = 0; r < rows; r++) tw_sums_store(totals + r * TW_COLUMNS, t[r]);
  for (int32_t r = 0; r < wanted; r++) store_any(k, column, count, totals + r * TW_COLUMNS, y + r * pitch);
}

/* A block of columns and some rows, of which some are wanted. */
TW_ALWAYS void multiply_block(int rows, const work *k, const lines *x, int32_t wanted, int32_t column, int32_t count,
                              TW_Y *y) {
  tw_sums t[TW_ROWS];
  TW_UNROLLED for (int r = 0; r < rows; r++) t[r] = tw_sums_load(k->start + column);
  if (k->zero_b) TW_UNROLLED for (int r = 0; r < rows; r++) t[r] = tw_sums_plus(t[r], x->term[r]);
  tw_turn_pairs(rows, t);
  tw_multiply(rows, t, x->at, k->length, k->panel + (int64_t)column * k->length, TW_FLIP_OF(TW_A));
  tw_turn_pairs(rows, t);
  store_block(rows, k, t, wanted, column, count, y);
}

TW_APART void many_rows(const work *k, const lines *x, int32_t rows, int32_t columns, TW_Y *y) {
  for (int32_t done = 0; done < columns; done += TW_COLUMNS) {
    multiply_block(TW_ROWS, k, x, rows, done, tw_min(TW_COLUMNS, columns - done), y + done);
  }
}

TW_APART void one_row(const work *k, const lines *x, int32_t columns, TW_Y *y) {
  for (int32_t done = 0; done < columns; done += TW_COLUMNS) {
    multiply_block(1, k, x, 1, done, tw_min(TW_COLUMNS, columns - done), y + done);
  }
}

/* ---- a single row: the second operand is read once, where it is ---- */

/* What columns sum up to besides products: their zero points, and those of the row. */
TW_ALWAYS tw_sums completed(const work *k, tw_sums t, tw_sums sums, int32_t term) {
  if (k->zero_a) t = tw_sums_less(t, sums, k->zero_a);
  return tw_sums_plus(t, term + k->zero_a * k->p->inner * k->zero_b);
}

/* Columns whose elements lie side by side. */
TW_APART void row_by_columns(const work *k, const lines *x, const TW_B *b, int32_t columns, TW_Y *y) {
  const int64_t pitch = k->p->b_column;
  const tw_sums nothing = tw_sums_of(0);
  for (int32_t done = 0; done < columns; done += TW_COLUMNS) {
    const int32_t count = tw_min(TW_COLUMNS, columns - done);
    const int8_t *at[TW_COLUMNS];
    for (int32_t c = 0; c < TW_COLUMNS; c++) at[c] = (const int8_t *)b + (done + tw_min(c, count - 1)) * pitch;
    const tw_sums products = tw_dots(x->at[0], TW_FLIP_OF(TW_A), at, TW_FLIP_OF(TW_B), k->p->inner);
    const tw_sums sums = k->zero_a ? tw_dots(k->ones, 0, at, TW_FLIP_OF(TW_B), k->p->inner) : nothing;
    const tw_sums t = completed(k, tw_sums_added(tw_sums_load(k->start + done), products), sums, x->term[0]);
    store_block(1, k, &t, 1, done, count, y + done);
  }
}

/* Two blocks of columns that lie side by side. */
TW_ALWAYS void two_blocks(const work *k, const lines *x, const int8_t *from, int32_t column, TW_Y *y) {
  static const int8_t nothing[2 * TW_COLUMNS];
  const int32_t inner = k->p->inner;
  const int64_t step = k->p->b_row;
  tw_sums t[2] = {tw_sums_load(k->start + column), tw_sums_load(k->start + column + TW_COLUMNS)};
  tw_sums sums[2] = {tw_sums_of(0), tw_sums_of(0)};
  for (int32_t i = 0; i < inner; i += 4, from += 4 * step) {
    const int8_t *at[4] = {from, from + step, from + 2 * step, from + 3 * step};
    if (i + 4 > inner) TW_UNROLLED for (int n = 1; n < 4; n++) at[n] = i + n < inner ? at[n] : nothing;
    const tw_taps taps = tw_taps_of(2, at, TW_FLIP_OF(TW_B));
    const tw_taps four = tw_taps_same(x->at[0] + i, TW_FLIP_OF(TW_A));
    tw_multiply_taps(2, t, &taps, &four);
    if (k->zero_a) {
      const tw_taps one = tw_taps_same(k->ones + i, 0);
      tw_multiply_taps(2, sums, &taps, &one);
    }
  }
  TW_UNROLLED for (int c = 0; c < 2; c++) {
    const tw_sums total = completed(k, t[c], sums[c], x->term[0]);
    store_block(1, k, &total, 1, column + c * TW_COLUMNS, TW_COLUMNS, y + c * TW_COLUMNS);
  }
}

/* Columns that lie side by side, two blocks of them at least; the last two may be computed twice. */
TW_APART void row_by_rows(const work *k, const lines *x, const TW_B *b, int32_t columns, TW_Y *y) {
  const int32_t last = columns - 2 * TW_COLUMNS;
  for (int32_t done = 0; done < columns; done += 2 * TW_COLUMNS) {
    const int32_t column = tw_min(done, last);
    two_blocks(k, x, (const int8_t *)b + column, column, y + column);
  }
}

static int is_read_in_place(const tw_matmul_params *p) {
  return p->rows == 1 && (p->b_row == 1 || (p->b_column == 1 && p->columns >= 2 * TW_COLUMNS));
}

static void single_row(const work *k, int32_t most, const TW_A *a, const TW_B *b, const int32_t *c, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  const lines x = lines_of(k, a, 1);
  for (int32_t column = 0; column < p->columns; column += most) {
    const int32_t columns = tw_min(most, p->columns - column);
    const TW_B *const from = b + (int64_t)column * p->b_column;
    spread_columns(k, c, column, columns);
    if (p->b_row == 1) {
      row_by_columns(k, &x, from, columns, y + column);
    } else {
      row_by_rows(k, &x, from, columns, y + column);
    }
  }
}

static void one_product(const work *k, int32_t most, const TW_A *a, const TW_B *b, const int32_t *c, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  for (int32_t column = 0; column < p->columns; column += most) {
    const int32_t columns = tw_min(most, p->columns - column);
    pack(k, b + (int64_t)column * p->b_column, columns);
    spread_columns(k, c, column, columns);
    find_starts(k, columns);
    for (int32_t row = 0; row < p->rows; row += TW_ROWS) {
      const int32_t rows = tw_min(TW_ROWS, p->rows - row);
      const lines x = lines_of(k, a + (int64_t)row * p->a_row, rows);
      TW_Y *const to = y + (int64_t)row * p->y_row + column;
      if (rows == 1) {
        one_row(k, &x, columns, to);
      } else {
        many_rows(k, &x, rows, columns, to);
      }
    }
  }
}

void TW_NAME(const tw_matmul_dot_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = &params->product;
  const int32_t length = tw_whole_fours(p->inner);
  int32_t *const start = scratch;
  int8_t *const ones = (int8_t *)(start + 3 * params->columns);
  int8_t *const rows = ones + length;
  const work k = {p, (tw_way)params->way, length, p->a_zero - TW_FLIP_OF(TW_A), p->b_zero - TW_FLIP_OF(TW_B), mul, add,
                  rows + TW_ROWS * length, rows, ones, start, start + params->columns, start + 2 * params->columns};
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(p)) return;
  memset(ones, 0, (size_t)length);
  memset(ones, 1, (size_t)p->inner);
  do {
    (is_read_in_place(p) ? single_row : one_product)(&k, params->columns, a + at.a, b + at.b, c ? c + at.c : NULL, y + at.y);
  } while (tw_batch_next(p, &at));
}
