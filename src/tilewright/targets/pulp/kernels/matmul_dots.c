/* Matrix product of 8-bit integers, int32 totals, optionally requantised; all cores of a cluster together.
 *
 * Work is dealt out in strips: four columns and some or all of the rows. Both operands are taken as rows that are
 * contiguous along the sum; where they are stored otherwise, they are packed into the scratch memory first. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_dots
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)
#define TW_LARGEST_PRODUCT ((TW_A_SIGNED ? 128u : 255u) * (TW_B_SIGNED ? 128u : 255u))

#define TW_Y_IS_WIDE (sizeof(TW_Y) == 2)

#include "cluster.h"
#include "columns.h"
#include "dots.h"
#include "matmul_dots_sizes.h"
#include "own_requant.h"
#include "pack8.h"
#include "requant_words.h"

typedef struct {
  const tw_matmul_params *p;
  const TW_A *a;
  const TW_B *b;
  const int32_t *c, *mul, *add;
  TW_Y *y;
  int32_t length;  /* of the sum, filled up to at least four */
  uint32_t limit;  /* the largest sum of products */
  int32_t per_row; /* whether bias or requantisation differ from row to row, or b has a zero point */
  int32_t by_total; /* whether totals are stored one by one, because of the above or because y's columns are apart */
  int32_t is_set;  /* whether the columns' requantisation is that of all columns */
  int32_t summand; /* of all columns, if so */
  int32_t is_common; /* whether columns have factors of their own, but one mode */
  int32_t offset;    /* what their summands lack, if so */
  tw_dots dots;
  tw_columns columns;
} work;

/* ---- operands ---- */

static int32_t batches(const tw_matmul_params *p) {
  int32_t count = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) count *= p->size[axis];
  return count;
}

static TW_COMPACT void find_batch(const tw_matmul_params *p, int32_t number, tw_batch *batch) {
  batch->a = batch->b = batch->c = batch->y = 0;
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    const int32_t size = p->size[axis];
    const int32_t next = axis ? (int32_t)((uint32_t)number / (uint32_t)size) : 0, at = number - next * size;
    batch->a += at * p->stride_a[axis];
    batch->b += at * p->stride_b[axis];
    batch->c += at * p->stride_c[axis];
    batch->y += at * p->stride_y[axis];
    number = next;
  }
}

/* Some rows, each `length` long: element k of row i is from[i * across + k * along]. */
static TW_COMPACT void pack_rows(const uint8_t *from, int32_t across, int32_t along, int32_t length, tw_share rows,
                                 uint8_t *to, int32_t pitch) {
  int32_t row = rows.first;
  while (row < rows.end) {
    const uint8_t *const start = from + row * across;
    if (across == 1 && length >= 4 && row + 4 <= rows.end) {
      tw_pack_four(start, along, length, to + row * pitch, pitch);
      row += 4;
    } else {
      tw_pack_one(start, along, length, to + row * pitch, pitch);
      row++;
    }
  }
}

/* Operands, where they need it: each core takes whole matrices if there are enough of them, else some rows of each. */
static TW_COMPACT void pack(const tw_matmul_params *p, const TW_A *a, const TW_B *b, int32_t count, int32_t length,
                            uint8_t *to) {
  const int pack_a = tw_a_is_packed(p), pack_b = tw_b_is_packed(p), by_rows = count < TW_CORES;
  const tw_share all = {0, count}, all_rows = {0, p->rows}, all_columns = {0, p->columns};
  const tw_share mine = by_rows ? all : tw_share_of(count);
  const tw_share rows = by_rows ? tw_share_in_blocks(p->rows, 4) : all_rows;
  const tw_share columns = by_rows ? tw_share_in_blocks(p->columns, 4) : all_columns;
  const int32_t a_size = pack_a ? p->rows * length : 0, b_size = pack_b ? p->columns * length : 0;
  to += mine.first * (a_size + b_size);
  for (int32_t i = mine.first; i < mine.end; i++) {
    tw_batch at;
    find_batch(p, i, &at);
    if (pack_a) pack_rows((const uint8_t *)(a + at.a), p->a_row, p->a_column, p->inner, rows, to, length);
    to += a_size;
    if (pack_b) pack_rows((const uint8_t *)(b + at.b), p->b_column, p->b_row, p->inner, columns, to, length);
    to += b_size;
  }
  tw_barrier();
}

/* ---- columns ---- */

static TW_COMPACT int32_t sum_of(const void *row, int32_t length, int is_signed) {
  const uint8_t *at = row;
  int32_t sum = 0;
  for (; length >= 4; length -= 4, at += 4) sum = tw_dot(sum, tw_x_load(at), 0x01010101u, is_signed, 1);
  for (; length > 0; length--, at++) sum += is_signed ? (int8_t)*at : *at;
  return sum;
}

/* What a's zero point adds to the totals of four columns. */
static TW_COMPACT void remove_zero(work *k, int32_t column, int32_t step) {
  const tw_matmul_params *const p = k->p;
  for (int f = 0; f < 4; f++, column += step) {
    const int32_t sum = sum_of(k->b + column * k->length, p->inner, TW_B_SIGNED);
    k->columns.init[f] -= p->a_zero * (sum - p->inner * p->b_zero);
  }
}

static TW_COMPACT void choose(work *k, int32_t column, int32_t step, uint32_t limit) {
  const tw_matmul_params *const p = k->p;
  if (!p->requantised) {
    tw_columns_plain(&k->columns);
  } else if (k->per_row) {
    k->columns.mode = TW_EXACT;
  } else {
    const int32_t *const add = k->add ? k->add + column * p->add_column : 0;
    tw_columns_choose(&k->columns, &p->requant, k->mul + column * p->mul_column, step * p->mul_column, add,
                      step * p->add_column, limit, TW_Y_SIGNED);
  }
}

/* Columns from `column` to `end` that differ in their factors: one mode for all of them, if there is one. Strips then
 * have but their factors to look up. */
static TW_COMPACT void choose_for_all(work *k, int32_t column, int32_t end) {
  const tw_matmul_params *const p = k->p;
  tw_factors all = tw_factors_of(k->mul[column * p->mul_column], 0);
  uint32_t most = 0;
  for (; column < end; column++) {
    tw_factors_join(&all, k->mul[column * p->mul_column], k->add ? k->add[column * p->add_column] : 0);
    if (k->c) most |= tw_magnitude(k->c[column * p->c_column]);
  }
  k->offset = tw_columns_mode(&k->columns, &p->requant, &all, k->limit + most, TW_Y_SIGNED);
  k->is_common = k->columns.mode != TW_EXACT;
}

static void set_common_columns(work *k, int32_t column, int32_t step) {
  const tw_matmul_params *const p = k->p;
  for (int f = 0; f < 4; f++, column += step) {
    k->columns.init[f] = k->c ? k->c[column * p->c_column] : 0;
    k->columns.mul[f] = k->mul[column * p->mul_column];
    k->columns.add[f] = (k->add ? k->add[column * p->add_column] : 0) + k->offset;
  }
  tw_columns_prepare(&k->columns);
}

/* Four columns from `column` on; the same one four times where `step` is 0. */
static void set_columns(work *k, int32_t column, int32_t step) {
  const tw_matmul_params *const p = k->p;
  const int32_t uniform = !(p->mul_column | p->add_column);
  if (k->is_set && !k->c && !p->a_zero) return;
  if (k->is_common) {
    set_common_columns(k, column, step);
    if (!k->by_total) tw_columns_begin_at_zero(&k->columns);
    return;
  }
  const int32_t c_step = step ? p->c_column : 0;
  const int32_t *const c = k->c && !k->per_row ? k->c + column * p->c_column : 0;
  int32_t *const init = k->columns.init;
  init[0] = init[1] = init[2] = init[3] = 0;
  if (c) init[0] = c[0], init[1] = c[c_step], init[2] = c[2 * c_step], init[3] = c[3 * c_step];
  if (p->a_zero) remove_zero(k, column, step);
  const uint32_t most = tw_magnitude(init[0]) | tw_magnitude(init[1]) | tw_magnitude(init[2]) | tw_magnitude(init[3]);
  const int32_t is_small = most < 1u << 16;
  if (k->is_set && is_small) {
    for (int f = 0; f < 4; f++) k->columns.add[f] = k->summand;
  } else {
    choose(k, column, step, k->limit + (is_small ? 1u << 16 : most));
    k->is_set = uniform && is_small;
    k->summand = k->columns.add[0];
    tw_columns_prepare(&k->columns);
  }
  if (!k->by_total) tw_columns_begin_at_zero(&k->columns);
}

/* ---- results ---- */

/* Totals to results, one by one. */
static TW_COMPACT void store_totals(const work *k, int32_t row, int32_t column, int32_t count, const int32_t *total) {
  const tw_matmul_params *const p = k->p;
  TW_Y *y = k->y + row * p->y_row + column * p->y_column;
  uint32_t excess = 0;
  if (p->b_zero) {
    excess = (uint32_t)p->b_zero * (uint32_t)sum_of(k->a + row * k->length, p->inner, TW_A_SIGNED);
  }
  for (int32_t f = 0; f < count; f++, y += p->y_column) {
    uint32_t value = (uint32_t)total[f] - excess;
    if (k->c && k->per_row) value += (uint32_t)k->c[row * p->c_row + (column + f) * p->c_column];
    if (p->requantised) {
      const int32_t factor = k->mul[row * p->mul_row + (column + f) * p->mul_column];
      const int32_t summand = k->add ? k->add[row * p->add_row + (column + f) * p->add_column] : 0;
      *y = (TW_Y)(sizeof(TW_Y) <= 2 ? tw_requantise_words(&p->requant, (int32_t)value, factor, summand)
                                    : tw_requantise_byte(&p->requant, (int32_t)value, factor, summand));
    } else {
      *y = (TW_Y)(int32_t)value;
    }
  }
}

static __attribute__((noinline)) void row_strip(const work *k, int32_t row, int32_t column, int32_t count) {
  const int32_t *const init = k->columns.init;
  int32_t total[4] = {init[0], init[1], init[2], init[3]};
  tw_dots_row(&k->dots.rows, k->a + row * k->length, k->dots.b, total, TW_A_SIGNED, TW_B_SIGNED);
  if (k->columns.mode == TW_EXACT || k->by_total) {
    store_totals(k, row, column, count, total);
    return;
  }
  TW_Y *const y = k->y + row * k->p->y_row + column;
  y[0] = (TW_Y)tw_columns_finish(&k->columns, total[0], 0, TW_Y_SIGNED);
  if (count < 4) return;
  for (int32_t f = 1; f < 4; f++) y[f] = (TW_Y)tw_columns_finish(&k->columns, total[f], f, TW_Y_SIGNED);
}

/* Some strips with the same factors, from `column` on: rows in blocks of four, of which a last one that is not whole
 * overlaps the one before. */
static void block_strips(work *k, int32_t row, int32_t end, int32_t column, int32_t strips) {
  int32_t count = (end - row) >> 2;
  k->dots.b_next = 4 * k->length;
  k->dots.columns_next = 0;
  k->dots.y_next = 4 * sizeof(TW_Y);
  while (row < end) {
    k->dots.quads = strips;
    k->dots.b = k->b + column * k->length;
    k->dots.a = k->a + row * k->length;
    k->dots.a_end = k->a + (row + 4 * count) * k->length;
    k->dots.y = k->dots.y_begin = k->y + row * k->p->y_row + column;
    tw_dots_blocks(&k->dots, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
    row += 4 * count;
    if (row < end) row = end - 4;
    count = 1;
  }
}

static inline int32_t short_result(int32_t a, int32_t b, int32_t mul, int32_t add, int32_t shift, int32_t high) {
  const int32_t value = tw_x_mac(add, tw_dot_alone(a, b, TW_A_SIGNED, TW_B_SIGNED), mul) >> shift;
  return TW_Y_SIGNED ? tw_x_clip(value, high) : tw_x_clipu(value, high);
}

/* Sums of four products: one dot product each, and the columns stay in registers. */
static __attribute__((noinline)) void short_strip(const work *k, int32_t row, int32_t end, int32_t column) {
  const tw_columns *const c = &k->columns;
  const uint8_t *const b = (const uint8_t *)k->dots.b, *a = (const uint8_t *)k->a + 4 * row;
  const int32_t b0 = (int32_t)tw_x_load(b), b1 = (int32_t)tw_x_load(b + 4), b2 = (int32_t)tw_x_load(b + 8);
  const int32_t b3 = (int32_t)tw_x_load(b + 12), m0 = c->mul[0], m1 = c->mul[1], m2 = c->mul[2], m3 = c->mul[3];
  const int32_t s0 = tw_x_mac(c->add[0], c->init[0], m0), s1 = tw_x_mac(c->add[1], c->init[1], m1);
  const int32_t s2 = tw_x_mac(c->add[2], c->init[2], m2), s3 = tw_x_mac(c->add[3], c->init[3], m3);
  const int32_t shift = c->shift, high = c->high, y_row = k->p->y_row;
  TW_Y *y = k->y + row * y_row + column;
  for (; row < end; row++, a += 4, y += y_row) {
    const int32_t word = (int32_t)tw_x_load(a);
    const int32_t y0 = short_result(word, b0, m0, s0, shift, high), y1 = short_result(word, b1, m1, s1, shift, high);
    const int32_t y2 = short_result(word, b2, m2, s2, shift, high), y3 = short_result(word, b3, m3, s3, shift, high);
    tw_x_store(y, tw_x_pack4(y0, y1, y2, y3));
  }
}

/* Four rows of four totals to results of 16 bits. */
static inline void store_wide(const work *k, int32_t row, int32_t column, const int32_t *total) {
  const tw_columns c = k->columns;
  for (int32_t r = 0; r < 4; r++, total += 4) {
    TW_Y *const y = k->y + (row + r) * k->p->y_row + column;
    for (int f = 0; f < 4; f++) y[f] = (TW_Y)tw_wide_finish(&c, total[f], f);
  }
}

/* A block's totals at a time, which are then stored one by one. */
static TW_COMPACT void total_block_strip(work *k, int32_t row, int32_t end, int32_t column) {
  int32_t total[16];
  const int32_t mode = k->columns.mode, y_step = k->dots.y_step;
  k->columns.mode = TW_PLAIN;
  k->dots.y_step = 16;
  for (int32_t next = row; next < end; next += 4) {
    const int32_t from = tw_min(next, end - 4);
    k->dots.a = k->a + from * k->length;
    k->dots.a_end = k->a + (from + 4) * k->length;
    k->dots.y = total;
    tw_dots_blocks(&k->dots, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
    if (TW_Y_IS_WIDE && mode == TW_WIDE && !k->by_total) {
      store_wide(k, from, column, total);
      continue;
    }
    for (int32_t r = 0; r < 4; r++) store_totals(k, from + r, column, 4, total + 4 * r);
  }
  k->columns.mode = mode;
  k->dots.y_step = y_step;
}

/* Rows from `row` to `end` of four columns, or of one where there are fewer than four. */
static void strip(work *k, int32_t row, int32_t end, int32_t column, int32_t count) {
  k->dots.b = k->b + column * k->length;
  k->dots.quads = 1;
  set_columns(k, column, count == 4);
  if (count == 4 && k->length == 4 && k->columns.mode == TW_SMALL && !k->by_total) {
    short_strip(k, row, end, column);
  } else if (count < 4 || end - row < 4) {
    for (; row < end; row++) row_strip(k, row, column, count);
  } else if (k->columns.mode == TW_EXACT || k->by_total || TW_Y_IS_WIDE) {
    total_block_strip(k, row, end, column);
  } else {
    block_strips(k, row, end, column, 1);
  }
}

/* All rows of at most `most` whole strips of four columns that have the same factors and begin at zero; returns how many
 * there were. */
static int32_t strips_alike(work *k, int32_t column, int32_t most) {
  const tw_matmul_params *const p = k->p;
  const int32_t strips = tw_min(most, (p->columns - column) >> 2);
  if (strips < 2 || p->rows < 4 || k->length == 4 || k->by_total || k->c || p->a_zero || TW_Y_IS_WIDE) return 0;
  set_columns(k, column, 1);
  if (!k->is_set || k->columns.mode == TW_EXACT) return 0;
  block_strips(k, 0, p->rows, column, strips);
  return strips;
}

/* ---- shares ---- */

/* The quotient; what is left stays in `number`. Divisions are slow, and most divisors here are 1 or larger. */
static int32_t split(int32_t *number, int32_t by) {
  if (by == 1 || *number < by) {
    const int32_t all = by == 1 ? *number : 0;
    *number -= all;
    return all;
  }
  const int32_t quotient = (int32_t)((uint32_t)*number / (uint32_t)by);
  *number -= quotient * by;
  return quotient;
}

static void set_work(work *k, const tw_matmul_params *p, int32_t width) {
  k->length = tw_max(p->inner, 4);
  k->limit = (uint32_t)k->length * TW_LARGEST_PRODUCT;
  k->per_row = p->c_row || p->mul_row || p->add_row || p->b_zero;
  k->by_total = k->per_row || (p->columns > 1 && p->y_column != 1);
  k->is_set = k->is_common = 0;
  tw_columns_plain(&k->columns);
  k->dots.columns = &k->columns;
  k->dots.y_step = p->y_row * (int32_t)sizeof(TW_Y);
  tw_dots_length(&k->dots, k->length);
  if (width == 1) k->dots.rows.step = 0, k->dots.rows.back = 4;
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = params;
  const int32_t width = p->columns < 4 ? 1 : 4, strips = tw_column_strips(p->columns);
  const int32_t blocks = (p->rows + 3) >> 2, count = batches(p), whole = count * strips;
  if (whole * blocks == 0) return;
  const int32_t parts = tw_row_parts(whole, blocks, TW_CORES);
  work k;
  k.p = p, k.mul = mul, k.add = add;
  set_work(&k, p, width);
  const int pack_a = tw_a_is_packed(p), pack_b = tw_b_is_packed(p);
  const int32_t a_size = p->rows * k.length, b_size = p->columns * k.length;
  const int32_t packed = (pack_a ? a_size : 0) + (pack_b ? b_size : 0);
  if (packed) pack(p, a, b, count, k.length, scratch);
  const tw_share share = tw_share_of(whole * parts);
  int32_t part = share.first, column = split(&part, parts), number = split(&column, strips);
  const int differ = p->requantised && !k.per_row && !p->a_zero && (p->mul_column | p->add_column);
  tw_batch at;
  at.a = at.b = at.c = at.y = 0;
  for (int32_t left = share.end - share.first; left > 0;) {
    if (count > 1) find_batch(p, number, &at);
    const uint8_t *const here = (const uint8_t *)scratch + number * packed;
    k.a = pack_a ? (const TW_A *)here : a + at.a;
    k.b = pack_b ? (const TW_B *)(here + (pack_a ? a_size : 0)) : b + at.b;
    k.c = c ? c + at.c : 0;
    k.y = y + at.y;
    if (differ) {
      const int32_t own = tw_min(strips - column, parts == 1 ? left : (part + left + parts - 1) / parts);
      choose_for_all(&k, tw_min(column * width, p->columns - width), tw_min((column + own) * width, p->columns));
    }
    const int32_t alike = parts == 1 && width == 4 ? strips_alike(&k, 4 * column, left) : 0;
    column += alike, left -= alike;
    for (; left > 0 && column < strips; left--) {
      int32_t first = 0, end = p->rows;
      if (parts > 1) {
        first = 4 * (blocks * part / parts);
        end = tw_min(end, 4 * (blocks * (part + 1) / parts));
        first = tw_max(0, tw_min(first, end - 4));
      }
      strip(&k, first, end, tw_min(column * width, p->columns - width), width);
      if (++part == parts) part = 0, column++;
    }
    column = 0;
    number++;
  }
}
