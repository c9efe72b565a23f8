/* y = mix(softmax(score(q k')) v) of bytes, over the keys that each query sees, by pairs of 16-bit products: two queries
 * meet two keys, then the shares of two keys meet four columns of values. Queries have no zero points, those of keys and
 * values are subtracted from totals; elements of queries are in the order of extended words: 0, 2, 1, 3. */
#include "qlinearattention.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearattention_pairs
#define TW_Q int8_t
#define TW_K int8_t
#define TW_V int8_t
#define TW_Y int8_t
#endif

#include "always.h"
#include "attention_pairs_sizes.h"
#include "requant_row.h"

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>
#endif

#define LOWEST (-(1 << 15)) /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */

typedef tw_qlinearattention_params params_type;

/* Of two queries. */
typedef struct {
  int32_t *scores[TW_QUERIES];
  int16_t *shares[TW_QUERIES];
  int16_t *queries[TW_QUERIES];
} memory;

/* ---- words ---- */

TW_ALWAYS uint32_t word_at(const void *at) {
  uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

#ifdef __ARM_FEATURE_DSP
#define TW_EVEN(type, x) ((type)-1 < 0 ? (uint32_t)__sxtb16(x) : (uint32_t)__uxtb16(x))
#define TW_ADD_TWO(x, y, sum) __smlad((int16x2_t)(x), (int16x2_t)(y), sum)
#else
#define TW_EVEN(type, x) (((uint32_t)(type)(x) & 0xffff) | (uint32_t)(type)((x) >> 16) << 16)
#define TW_ADD_TWO(x, y, sum) \
  ((sum) + (int16_t)(x) * (int16_t)(y) + (int16_t)((uint32_t)(x) >> 16) * (int16_t)((uint32_t)(y) >> 16))
#endif
#define TW_ODD(type, x) TW_EVEN(type, (x) >> 8 | (x) << 24)

TW_ALWAYS uint32_t lower_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
TW_ALWAYS uint32_t upper_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

/* ---- scores ---- */

/* The query without its zero point; returns what the keys' zero point adds to each of its products. */
static int32_t centre(const params_type *p, const TW_Q *q, int16_t *wide) {
  const int32_t length = p->rows.length, whole = length & ~3;
  int32_t sum = 0;
  for (int32_t i = 0; i < length; i++) {
    const int32_t at = i & 3, value = q[i] - p->q_zero;
    wide[i < whole && (at == 1 || at == 2) ? i ^ 3 : i] = (int16_t)value;
    sum += value;
  }
  return sum * p->k_zero;
}

/* Two keys with both queries. */
static __attribute__((noinline)) void four_scores(const memory *m, const TW_K *a, const TW_K *b, int32_t length,
                                                  int32_t at) {
  const int16_t *p = m->queries[0], *q = m->queries[1];
  int32_t pa = 0, pb = 0, qa = 0, qb = 0;
  for (; length >= 4; length -= 4, a += 4, b += 4, p += 4, q += 4) {
    const uint32_t first = word_at(a), second = word_at(b);
    const uint32_t p0 = word_at(p), p1 = word_at(p + 2), q0 = word_at(q), q1 = word_at(q + 2);
    const uint32_t a0 = TW_EVEN(TW_K, first), a1 = TW_ODD(TW_K, first);
    pa = TW_ADD_TWO(a0, p0, pa), qa = TW_ADD_TWO(a0, q0, qa), pa = TW_ADD_TWO(a1, p1, pa), qa = TW_ADD_TWO(a1, q1, qa);
    const uint32_t b0 = TW_EVEN(TW_K, second), b1 = TW_ODD(TW_K, second);
    pb = TW_ADD_TWO(b0, p0, pb), qb = TW_ADD_TWO(b0, q0, qb), pb = TW_ADD_TWO(b1, p1, pb), qb = TW_ADD_TWO(b1, q1, qb);
  }
  for (; length > 0; length--, a++, b++, p++, q++) pa += *a * *p, qa += *a * *q, pb += *b * *p, qb += *b * *q;
  m->scores[0][at] = pa, m->scores[0][at + 1] = pb;
  m->scores[1][at] = qa, m->scores[1][at + 1] = qb;
}

static int32_t power(const params_type *p, const int32_t *table, int32_t distance) {
  if (p->bits == 0) return table[distance];
  const int32_t at = distance >> p->bits;
  if (at >= p->coarse) return 0;
  const int32_t fine = table[p->coarse + (distance & ((1 << p->bits) - 1))];
  return (int32_t)(((int64_t)table[at] * fine) >> FINE_BITS);
}

/* Totals become scores; returns the largest. */
static __attribute__((noinline)) int32_t scale_scores(const params_type *p, int32_t excess, int32_t seen, int32_t *row) {
  const tw_scaling *const score = &p->score;
  const tw_requant *const r = &score->requant;
  const int32_t add = score->add;
  const tw_way way = tw_way_of(1, r, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 0);
  const tw_factor f = tw_factor_of(way, r, score->mul, add);
  int32_t largest = LOWEST;
  for (int32_t s = 0; s < seen; s++) {
    const int32_t total = row[s] - excess, value = way == TW_FAR ? tw_far(r, &f, total) : tw_scale(score, total);
    row[s] = value;
    largest = tw_max(largest, value);
  }
  return largest;
}

/* ---- shares ---- */

/* By the upper word of a product, whose shift is above 32: the lower one decides ties only. */
TW_ALWAYS int32_t share_by_upper(const tw_requant *r, uint32_t power_of, uint64_t unit) {
  const uint64_t product = power_of * unit;
  const int32_t shift = r->shift - 32, sum = (int32_t)(product >> 32) + (1 << (shift - 1));
  int32_t value = sum >> shift;
  if ((uint32_t)product == 0 && (sum & ((1 << shift) - 1)) == 0 && r->rounding == TW_HALF_EVEN) value -= value & 1;
  return tw_within(value, r->low - r->zero_point, r->high - r->zero_point);
}

/* Scores become shares without their zero point, and one more of zero; returns their sum. */
static __attribute__((noinline)) int32_t share_row(const params_type *p, const int32_t *table, int32_t largest,
                                                   int32_t seen, int32_t *row, int16_t *shares) {
  const tw_requant share = p->share;
  const int by_upper = share.shift > 32 && share.shift < 63;
  int64_t sum = 0;
  int32_t total = 0;
  for (int32_t s = 0; s < seen; s++) {
    row[s] = power(p, table, largest - row[s]);
    sum += row[s];
  }
  const int64_t unit = sum > 0 ? p->numerator / sum : 0;
  for (int32_t s = 0; s < seen; s++) {
    const int32_t own = by_upper ? share_by_upper(&share, (uint32_t)row[s], (uint64_t)unit)
                                 : tw_narrow(&share, row[s] * unit) - share.zero_point;
    shares[s] = (int16_t)own;
    total += own;
  }
  return total;
}

/* ---- values ---- */

/* Four columns of both queries. */
static __attribute__((noinline)) void mix_four(const memory *m, const TW_V *v, int32_t v_row, int32_t seen,
                                               int32_t total[TW_QUERIES][4]) {
  const int16_t *p = m->shares[0], *q = m->shares[1];
  int32_t p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
  for (; seen > 0; seen -= 2, p += 2, q += 2) {
    /* The last of an odd number has a share of zero beside it. */
    const TW_V *const second = seen > 1 ? v + v_row : v;
    const uint32_t a = word_at(v), b = word_at(second), of_p = word_at(p), of_q = word_at(q);
    const uint32_t even = TW_EVEN(TW_V, a), even_2 = TW_EVEN(TW_V, b), odd = TW_ODD(TW_V, a), odd_2 = TW_ODD(TW_V, b);
    const uint32_t x0 = lower_halves(even, even_2), x2 = upper_halves(even, even_2);
    p0 = TW_ADD_TWO(x0, of_p, p0), q0 = TW_ADD_TWO(x0, of_q, q0);
    p2 = TW_ADD_TWO(x2, of_p, p2), q2 = TW_ADD_TWO(x2, of_q, q2);
    const uint32_t x1 = lower_halves(odd, odd_2), x3 = upper_halves(odd, odd_2);
    p1 = TW_ADD_TWO(x1, of_p, p1), q1 = TW_ADD_TWO(x1, of_q, q1);
    p3 = TW_ADD_TWO(x3, of_p, p3), q3 = TW_ADD_TWO(x3, of_q, q3);
    v += 2 * v_row;
  }
  total[0][0] = p0, total[0][1] = p1, total[0][2] = p2, total[0][3] = p3;
  total[1][0] = q0, total[1][1] = q1, total[1][2] = q2, total[1][3] = q3;
}

static void mix_one(const memory *m, const TW_V *v, int32_t v_row, int32_t seen, int32_t total[TW_QUERIES][4]) {
  int32_t p = 0, q = 0;
  for (int32_t s = 0; s < seen; s++, v += v_row) p += *v * m->shares[0][s], q += *v * m->shares[1][s];
  total[0][0] = p, total[1][0] = q;
}

/* Some columns of a row of results. */
static __attribute__((noinline)) void store(const params_type *p, int32_t *total, int32_t excess, int32_t columns, TW_Y *y) {
  const tw_scaling *const mix = &p->mix;
  const tw_requant *const r = &mix->requant;
  const int32_t add = mix->add;
  const tw_way way = tw_way_of(1, r, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 0);
  const tw_factor f = tw_factor_of(way, r, mix->mul, add);
  for (int32_t i = 0; i < columns; i++) total[i] -= excess;
  if (columns == 4) {
    tw_requantise_row(way, r, &f, total, y, 4);
  } else {
    tw_requantise_row(way, r, &f, total, y, 1);
  }
}

/* ---- the layer ---- */

/* Up to two queries of a head; the second one is the first again where there is one. */
static void block(const params_type *p, memory m, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
                  const int32_t *position, int32_t query, int32_t rows, TW_Y *y) {
  const tw_attention_rows *const r = &p->rows;
  const int32_t heads = r->groups * r->repeat, k_row = r->groups * r->length, v_row = r->groups * r->width;
  const int32_t most = tw_keys_seen(r, query + rows - 1, position), width = r->width;
  int32_t excess[TW_QUERIES], total[TW_QUERIES][4];
  for (int32_t i = 0; i < rows; i++) excess[i] = centre(p, q + i * heads * r->length, m.queries[i]);
  if (rows == 1) m.queries[1] = m.queries[0], m.shares[1] = m.shares[0];
  for (int32_t s = 0; s < most; s += 2) {
    const TW_K *const key = k + s * k_row;
    four_scores(&m, key, s + 1 < most ? key + k_row : key, r->length, s);
  }
  for (int32_t i = 0; i < rows; i++) {
    const int32_t seen = tw_keys_seen(r, query + i, position);
    const int32_t largest = scale_scores(p, excess[i], seen, m.scores[i]);
    excess[i] = p->v_zero * share_row(p, table, largest, seen, m.scores[i], m.shares[i]);
    for (int32_t s = seen; s < ((most + 1) & ~1); s++) m.shares[i][s] = 0;
  }
  for (int32_t e = 0; e < width;) {
    const int32_t columns = e + 4 <= width ? 4 : 1;
    if (columns == 4) {
      mix_four(&m, v + e, v_row, most, total);
    } else {
      mix_one(&m, v + e, v_row, most, total);
    }
    for (int32_t i = 0; i < rows; i++) store(p, total[i], excess[i], columns, y + i * heads * width + e);
    e += columns;
  }
}

void TW_NAME(const tw_qlinearattention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
             const int32_t *position, TW_Y *y, void *scratch) {
  const tw_attention_rows *const r = &params->rows;
  const int32_t heads = r->groups * r->repeat, pitch = tw_attention_keys(r), length = tw_attention_length(r);
  int32_t *const scores = scratch;
  int16_t *const shares = (int16_t *)(void *)(scores + TW_QUERIES * pitch), *const queries = shares + TW_QUERIES * pitch;
  const memory m = {{scores, scores + pitch}, {shares, shares + pitch}, {queries, queries + length}};
  for (int32_t pair = 0; pair < r->batch * r->groups; pair++) {
    const int32_t b = pair / r->groups, g = pair % r->groups, first = b * r->keys * r->groups + g;
    for (int32_t h = g * r->repeat; h < (g + 1) * r->repeat; h++) {
      for (int32_t t = 0; t < r->queries; t += TW_QUERIES) {
        const int32_t row = (b * r->queries + t) * heads + h;
        block(params, m, q + row * r->length, k + first * r->length, v + first * r->width, table, position, t,
              tw_min(TW_QUERIES, r->queries - t), y + row * r->width);
      }
    }
  }
}
