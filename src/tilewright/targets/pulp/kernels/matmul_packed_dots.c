/* Product of bytes with a matrix of packed weights, int32 totals, optionally requantised; all cores together. Strips of
 * four columns are dealt out; the weights of a strip are unpacked on the way to the dot products of each row. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_packed_dots
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)
#define TW_Y_IS_WIDE (sizeof(TW_Y) == 2)

#include "cluster.h"
#include "columns.h"
#include "matmul_packed.h"
#include "packed_pair.h"
#include "packed_rows.h"
#include "requant_words.h"

typedef struct {
  const tw_matmul_packed_params *p;
  const uint8_t *b;
  const int32_t *c, *mul, *add;
  int32_t words, rest;        /* of a row of weights that are whole, and codes in the last word */
  int32_t least[TW_ROWS];     /* what the least weight adds to the totals of each row */
  uint32_t rests[TW_ROWS][4]; /* the last bytes of each row */
  tw_columns columns;
} work;

static TW_COMPACT int32_t sum_of(const TW_A *a, int32_t count) {
  int32_t sum = tw_words_sum((const uint8_t *)a, count >> 2, TW_A_SIGNED);
  for (int32_t i = count & ~3; i < count; i++) sum += a[i];
  return sum;
}

/* The last bytes of a row, which meet codes that do not fill their word, with zeros behind them. */
static TW_COMPACT void copy_rest(const TW_A *a, int32_t count, uint32_t *to) {
  to[0] = to[1] = to[2] = to[3] = 0;
  for (int32_t i = 0; i < count; i++) ((TW_A *)to)[i] = a[i];
}

/* total[i] += codes of two rows of weights times some words of a row. */
static inline __attribute__((always_inline)) void add_pair(const void *a, const uint8_t *w, int32_t step, int32_t words,
                                                           int32_t bits, int32_t *total) {
  tw_pair_totals found = {{total[0], total[1]}, {0, 0}};
  tw_packed_pair(a, w, w + step, words, bits, &found, TW_A_SIGNED);
  total[0] = found.low[0] + (found.high[0] >> bits);
  total[1] = found.low[1] + (found.high[1] >> bits);
}

/* The last codes of four rows of weights. */
static TW_COMPACT void add_rest(const work *k, const uint32_t *rest, const uint8_t *w, int32_t bits, int32_t *total) {
  const int32_t step = k->p->row_bytes;
  w += 4 * k->words;
  for (int f = 0; f < 4; f += 2, w += 2 * step) {
    if (bits == 4) {
      add_pair(rest, w, step, 1, 4, total + f);
    } else {
      add_pair(rest, w, step, 1, 2, total + f);
    }
  }
}

/* Results of 16 bits need to know how large totals of four columns can be; weights are bytes at most. */
static inline uint32_t largest_total(const work *k, int32_t column) {
  const tw_matmul_packed_params *const p = k->p;
  uint32_t begins = 0;
  for (int f = 0; k->c && f < 4; f++) begins |= tw_magnitude(k->c[(column + f) * p->c_step]);
  const uint64_t most = (uint64_t)(uint32_t)p->inner * (255u * 255u) + begins;
  return most < INT32_MAX ? (uint32_t)most : INT32_MAX;
}

static TW_COMPACT void choose(work *k, int32_t column) {
  const tw_matmul_packed_params *const p = k->p;
  if (!p->requantised) return;
  tw_columns_choose(&k->columns, &p->requant, k->mul + column * p->mul_step, p->mul_step,
                    k->add ? k->add + column * p->add_step : 0, p->add_step,
                    TW_Y_IS_WIDE ? largest_total(k, column) : INT32_MAX, TW_Y_SIGNED);
}

static TW_COMPACT void store_exactly(const work *k, int32_t column, const int32_t *total, TW_Y *y) {
  const tw_matmul_packed_params *const p = k->p;
  for (int f = 0; f < 4; f++) {
    const int32_t summand = k->add ? k->add[(column + f) * p->add_step] : 0;
    y[f] = (TW_Y)tw_requantise_words(&p->requant, total[f], k->mul[(column + f) * p->mul_step], summand);
  }
}

/* By the columns' mode, if that is neither plain nor exact. */
static inline __attribute__((always_inline)) void store_narrow(const tw_columns *r, const int32_t *total, TW_Y *y) {
  const int32_t is_high = r->mode == TW_HIGH, shift = r->shift, high = r->high, bound = r->bound;
  for (int f = 0; f < 4; f++) {
    int32_t value;
    if (TW_Y_IS_WIDE) {
      y[f] = (TW_Y)tw_wide_finish(r, total[f], f);
      continue;
    }
    if (is_high) {
      value = tw_x_addn((int32_t)((int64_t)total[f] * r->mul[f] >> 32), (uint32_t)r->add[f], (uint32_t)shift);
    } else {
      value = tw_x_mac(r->add[f], tw_x_clip(total[f], bound), r->mul[f]) >> shift;
    }
    y[f] = (TW_Y)(TW_Y_SIGNED ? tw_x_clip(value, high) : tw_x_clipu(value, high));
  }
}

/* Some strips of some rows. */
static inline __attribute__((always_inline)) void strips(work *k, const TW_A *first, int32_t rows, tw_share share,
                                                         int32_t bits, TW_Y *results) {
  const tw_matmul_packed_params *const p = k->p;
  const int32_t inner = p->inner, columns = p->columns, row_bytes = p->row_bytes, words = k->words;
  const int32_t by_column = TW_Y_IS_WIDE || (p->mul_step | p->add_step), step = p->c_step;
  for (int32_t next = share.first; next < share.end; next++) {
    const int32_t column = tw_min(4 * next, columns - 4);
    const uint8_t *const w = k->b + column * row_bytes;
    const int32_t *const c = k->c ? k->c + column * step : 0;
    const TW_A *a = first;
    TW_Y *y = results + column;
    if (by_column) choose(k, column);
    for (int32_t row = 0; row < rows; row++, a += inner, y += columns) {
      const int32_t least = k->least[row];
      int32_t total[4] = {least, least, least, least};
      if (c) total[0] += c[0], total[1] += c[step], total[2] += c[2 * step], total[3] += c[3 * step];
      if (words) {
        add_pair(a, w, row_bytes, words, bits, total);
        add_pair(a, w + 2 * row_bytes, row_bytes, words, bits, total + 2);
      }
      if (k->rest) add_rest(k, k->rests[row], w, bits, total);
      if (k->columns.mode == TW_PLAIN) {
        for (int f = 0; f < 4; f++) y[f] = (TW_Y)total[f];
      } else if (k->columns.mode == TW_EXACT) {
        store_exactly(k, column, total, y);
      } else {
        store_narrow(&k->columns, total, y);
      }
    }
  }
}

static __attribute__((noinline)) void strips_of_4_bits(work *k, const TW_A *a, int32_t rows, tw_share share, TW_Y *y) {
  strips(k, a, rows, share, 4, y);
}

static __attribute__((noinline)) void strips_of_2_bits(work *k, const TW_A *a, int32_t rows, tw_share share, TW_Y *y) {
  strips(k, a, rows, share, 2, y);
}

void TW_NAME(const tw_matmul_packed_params *params, const TW_A *a, const uint8_t *b, const int32_t *c,
             const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_matmul_packed_params *const p = params;
  const tw_share share = tw_share_of((p->columns + 3) >> 2);
  if (share.first >= share.end) return;
  work k;
  k.p = p, k.b = b, k.c = c, k.mul = mul, k.add = add;
  k.words = p->bits == 4 ? p->inner >> 3 : p->inner >> 4;
  k.rest = p->inner - k.words * (p->bits == 4 ? 8 : 16);
  tw_columns_plain(&k.columns);
  if (!(p->mul_step | p->add_step)) choose(&k, 0);
  for (int32_t row = 0; row < p->rows; row += TW_ROWS, a += TW_ROWS * p->inner, y += TW_ROWS * p->columns) {
    const int32_t rows = tw_min(TW_ROWS, p->rows - row);
    for (int32_t i = 0; i < rows; i++) {
      const TW_A *const end = a + (i + 1) * p->inner;
      k.least[i] = p->least ? p->least * sum_of(end - p->inner, p->inner) : 0;
      if (k.rest) copy_rest(end - k.rest, k.rest, k.rests[i]);
    }
    if (p->bits == 4) {
      strips_of_4_bits(&k, a, rows, share, y);
    } else {
      strips_of_2_bits(&k, a, rows, share, y);
    }
  }
}
