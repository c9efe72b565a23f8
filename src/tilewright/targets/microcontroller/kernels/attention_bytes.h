/* y = mix(softmax(score(q k')) v) of bytes, over the keys that each query sees: two queries meet two keys, then the shares of
 * keys meet four columns of values. Queries have no zero points, those of keys and values are subtracted from totals.
 *
 * Whoever includes this says how queries are stored and how products are summed: `centre`, `four_scores`, `mix_four`. Needs
 * TW_Q, TW_K, TW_V and TW_Y. */
#ifndef TW_ATTENTION_BYTES_H
#define TW_ATTENTION_BYTES_H

#include "always.h"
#include "attention_bytes_sizes.h"
/* Those of scores. */
#define TW_LIMITS_ARE_WIDE
#include "requant_row.h"

#define LOWEST (-(1 << 15)) /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */

typedef tw_qlinearattention_params params_type;

/* Of two queries. */
typedef struct {
  int32_t *scores[TW_QUERIES];
  int16_t *shares[TW_QUERIES];
  int16_t *queries[TW_QUERIES];
} memory;

/* The query without its zero point; returns what the keys' zero point adds to each of its products. */
static int32_t centre(const params_type *p, const TW_Q *q, int16_t *wide);
/* Two keys with both queries. */
static void four_scores(const memory *m, const TW_K *a, const TW_K *b, int32_t length, int32_t at);
/* Four columns of both queries. The shares of an odd number of keys have one of zero behind them. */
static void mix_four(const memory *m, const TW_V *v, int32_t v_row, int32_t seen, int32_t total[TW_QUERIES][4]);

/* ---- scores ---- */

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

TW_ALWAYS void attend(const params_type *params, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
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

#endif
