/* Shares of each row of bytes; all cores together. A byte is at most 255 below its row's largest, so that tables hold
 * all exponentials, and what becomes of each share. */
#include "isoftmax_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_bytes_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

#include "cluster.h"
#include "tw.h"
#include "xpulp.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)
/* Of a reciprocal's fraction. Exponentials are below two to this power, and a row's largest one is the largest of all:
 * products with the reciprocal fit 32 bits. */
#define TW_SHARE_BITS 20

/* This core's share of both tables: entry i is for a distance of i, and for a share of i. The exponential of minus `distance` is a polynomial of what is left of the distance
 * when it is taken modulo ln2, halved for each time that ln2 went into it. */
static TW_COMPACT void set_tables(const tw_isoftmax_bytes_params *p, uint32_t *exponentials, uint8_t *results) {
  const tw_share share = tw_share_of(256);
  int32_t halvings = share.first / p->ln2, left = share.first - halvings * p->ln2;
  for (int32_t distance = share.first; distance < share.end; distance++, left++) {
    if (left == p->ln2) left = 0, halvings++;
    const int32_t z = tw_min(halvings, 31);
    const int32_t shifted = p->b + z * p->ln2 - distance;
    exponentials[255 - distance] = (uint32_t)((p->a * shifted * shifted + p->c) >> z);
    if (distance <= p->top) results[distance] = (uint8_t)(p->low + tw_narrowed(&p->out, distance, 0));
  }
  tw_barrier();
}

static int32_t largest_of(const TW_X *x, int32_t length) {
  int32_t largest = x[0];
  if (length >= 4) {
    int32_t four = (int32_t)tw_x_load(x);
    for (; length >= 4; length -= 4, x += 4) {
      const int32_t word = (int32_t)tw_x_load(x);
      four = TW_X_SIGNED ? tw_x_max4(four, word) : tw_x_maxu4(four, word);
    }
    for (int i = 0; i < 4; i++) {
      const uint32_t byte = (uint32_t)four >> (8 * i);
      largest = tw_x_max(largest, TW_X_SIGNED ? (int32_t)(int8_t)byte : (int32_t)(uint8_t)byte);
    }
  }
  for (; length > 0; length--) largest = tw_x_max(largest, *x++);
  return largest;
}

#define TW_X_BYTE(word, lane) (TW_X_SIGNED ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))

/* Entry x of a row's table is the exponential of x less the row's largest value. */
static uint32_t total_of(const uint32_t *table, const TW_X *x, int32_t length) {
  uint32_t total = 0;
  for (; length >= 4; length -= 4, x += 4) {
    const uint32_t word = tw_x_load(x);
    const uint32_t e0 = tw_x_word_at(table, TW_X_BYTE(word, 0)), e1 = tw_x_word_at(table, TW_X_BYTE(word, 1));
    const uint32_t e2 = tw_x_word_at(table, TW_X_BYTE(word, 2)), e3 = tw_x_word_at(table, TW_X_BYTE(word, 3));
    total += e0 + e1 + e2 + e3;
  }
  for (; length > 0; length--) total += tw_x_word_at(table, *x++);
  return total;
}

/* e * top / total by a reciprocal of the row: top * 2^32 / total, rounded up. It is so little too large that no quotient
 * is, where total is larger than top and its product with the largest e below 2^32. */
static inline uint32_t close_reciprocal(uint32_t top, uint32_t total) {
  const uint32_t first = (top << 24) / total, rest = (top << 24) - first * total;
  return (first << 8) + (rest << 8) / total + 1;
}

/* What the shares of a row are made of. */
typedef struct {
  const uint32_t *table;
  uint32_t top, total, reciprocal;
} row_values;

/* `is_close`: with the reciprocal above. Else with a shorter one, with which a quotient may be one too small. */
static inline int32_t share_of(const row_values *row, int32_t x, int is_close) {
  const uint32_t e = tw_x_word_at(row->table, x);
  if (is_close) return (int32_t)((uint64_t)e * row->reciprocal >> 32);
  const uint32_t share = e * row->reciprocal >> TW_SHARE_BITS;
  return (int32_t)(share + (e * row->top - share * row->total >= row->total));
}

static inline __attribute__((always_inline)) void share_out(const row_values *values, const uint8_t *results,
                                                            const TW_X *x, TW_Y *y, int32_t length, int is_close) {
  const row_values row = *values;
  for (; length >= 4; length -= 4, x += 4, y += 4) {
    const uint32_t word = tw_x_load(x);
    const int32_t s0 = share_of(&row, TW_X_BYTE(word, 0), is_close), s1 = share_of(&row, TW_X_BYTE(word, 1), is_close);
    const int32_t s2 = share_of(&row, TW_X_BYTE(word, 2), is_close), s3 = share_of(&row, TW_X_BYTE(word, 3), is_close);
    tw_x_store(y, tw_x_pack4(tw_x_byte_at(results, s0), tw_x_byte_at(results, s1), tw_x_byte_at(results, s2),
                             tw_x_byte_at(results, s3)));
  }
  for (; length > 0; length--) *y++ = (TW_Y)results[share_of(&row, *x++, is_close)];
}

static __attribute__((noinline)) void share_out_closely(const row_values *values, const uint8_t *results, const TW_X *x,
                                                        TW_Y *y, int32_t length) {
  share_out(values, results, x, y, length, 1);
}

static __attribute__((noinline)) void share_out_anyhow(const row_values *values, const uint8_t *results, const TW_X *x,
                                                       TW_Y *y, int32_t length) {
  share_out(values, results, x, y, length, 0);
}

void TW_NAME(const tw_isoftmax_bytes_params *params, const TW_X *x, TW_Y *y, void *scratch) {
  const int32_t length = params->length;
  const uint32_t top = (uint32_t)params->top;
  uint32_t *const exponentials = scratch;
  uint8_t *const results = (uint8_t *)(exponentials + 256);
  set_tables(params, exponentials, results);
  const tw_share share = tw_share_of(params->rows);
  x += share.first * length;
  y += share.first * length;
  for (int32_t row = share.first; row < share.end; row++, x += length, y += length) {
    row_values values = {exponentials + 255 - largest_of(x, length), top, 0, 0};
    values.total = total_of(values.table, x, length);
    if (values.total > top && (uint64_t)values.total * exponentials[255] <= UINT32_MAX) {
      values.reciprocal = close_reciprocal(top, values.total);
      share_out_closely(&values, results, x, y, length);
    } else {
      values.reciprocal = (top << TW_SHARE_BITS) / values.total;
      share_out_anyhow(&values, results, x, y, length);
    }
  }
}
