/* Product of bytes with a matrix of packed weights, int32 totals, optionally requantised; all cores together. Strips of
 * four columns are dealt out; the weights of a strip are unpacked on the way to the dot products of each row. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_packed_dots
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)
/* Rows at a time, whose sums are known. */
#define TW_ROWS 8

#include "cluster.h"
#include "columns.h"
#include "matmul_packed.h"
#include "packed_pair.h"
#include "requant_words.h"

typedef struct {
  const tw_matmul_packed_params *p;
  const uint8_t *b;
  const int32_t *c, *mul, *add;
  int32_t words, rest; /* of a row of weights that are whole, and codes in the last word */
  int32_t least[TW_ROWS]; /* what the least weight adds to the totals of each row */
  tw_columns columns;
} work;

static TW_COMPACT int32_t sum_of(const TW_A *a, int32_t count) {
  int32_t sum = 0;
  for (; count >= 4; count -= 4, a += 4) sum = tw_dot(sum, tw_x_load(a), 0x01010101u, TW_A_SIGNED, 1);
  for (; count > 0; count--) sum += *a++;
  return sum;
}

/* The last codes of a row, which do not fill their word. */
static TW_COMPACT int32_t rest_of(const TW_A *a, const uint8_t *w, int32_t count, int32_t bits) {
  const int32_t mask = (1 << bits) - 1;
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += a[i] * (w[i & 3] >> (i >> 2) * bits & mask);
  return sum;
}

/* total[f] += codes of row f of four rows of weights times a row. */
static inline __attribute__((always_inline)) void strip_row(const work *k, const TW_A *a, const uint8_t *w,
                                                            int32_t bits, int32_t *total) {
  const int32_t step = k->p->row_bytes;
  for (int f = 0; f < 4; f += 2, w += 2 * step) {
    tw_pair_totals found = {{0, 0}, {0, 0}};
    tw_packed_pair((const uint8_t *)a, w, w + step, k->words, bits, &found, TW_A_SIGNED);
    total[f] += found.low[0] + (found.high[0] >> bits);
    total[f + 1] += found.low[1] + (found.high[1] >> bits);
  }
}

static inline void rest_row(const work *k, const TW_A *a, const uint8_t *w, int32_t *total) {
  const int32_t done = k->p->inner - k->rest;
  w += 4 * k->words;
  for (int f = 0; f < 4; f++, w += k->p->row_bytes) total[f] += rest_of(a + done, w, k->rest, k->p->bits);
}

static TW_COMPACT void choose(work *k, int32_t column) {
  const tw_matmul_packed_params *const p = k->p;
  if (!p->requantised) return;
  tw_columns_choose(&k->columns, &p->requant, k->mul + column * p->mul_step, p->mul_step,
                    k->add ? k->add + column * p->add_step : 0, p->add_step, INT32_MAX, TW_Y_SIGNED);
}

static inline void store(const work *k, int32_t column, const int32_t *total, TW_Y *y) {
  const tw_matmul_packed_params *const p = k->p;
  for (int f = 0; f < 4; f++) {
    if (k->columns.mode == TW_EXACT) {
      const int32_t summand = k->add ? k->add[(column + f) * p->add_step] : 0;
      y[f] = (TW_Y)tw_requantise_words(&p->requant, total[f], k->mul[(column + f) * p->mul_step], summand);
    } else {
      y[f] = (TW_Y)tw_columns_finish(&k->columns, total[f], f, TW_Y_SIGNED);
    }
  }
}

/* Four columns from `column` on, of some rows. */
static __attribute__((noinline)) void strip(const work *k, const TW_A *a, int32_t rows, int32_t column, TW_Y *y) {
  const tw_matmul_packed_params *const p = k->p;
  const uint8_t *const w = k->b + column * p->row_bytes;
  const int32_t *const c = k->c ? k->c + column * p->c_step : 0;
  const int32_t step = p->c_step;
  for (int32_t row = 0; row < rows; row++, a += p->inner, y += p->columns) {
    const int32_t least = k->least[row];
    int32_t total[4] = {least, least, least, least};
    if (c) total[0] += c[0], total[1] += c[step], total[2] += c[2 * step], total[3] += c[3 * step];
    if (p->bits == 4) {
      strip_row(k, a, w, 4, total);
    } else {
      strip_row(k, a, w, 2, total);
    }
    if (k->rest) rest_row(k, a, w, total);
    store(k, column, total, y + column);
  }
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
  const int32_t by_column = p->mul_step | p->add_step;
  if (!by_column) choose(&k, 0);
  for (int32_t row = 0; row < p->rows; row += TW_ROWS, a += TW_ROWS * p->inner, y += TW_ROWS * p->columns) {
    const int32_t rows = tw_min(TW_ROWS, p->rows - row);
    for (int32_t i = 0; i < rows; i++) k.least[i] = p->least ? p->least * sum_of(a + i * p->inner, p->inner) : 0;
    for (int32_t next = share.first; next < share.end; next++) {
      const int32_t column = tw_min(4 * next, p->columns - 4);
      if (by_column) choose(&k, column);
      strip(&k, a, rows, column, y);
    }
  }
}
