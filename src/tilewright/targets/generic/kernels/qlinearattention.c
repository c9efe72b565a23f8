/* y = mix(softmax(score(q k')) v) of integers, row by row over the keys that each query sees: the scores of one row are
 * all that is ever stored. */
#include "qlinearattention.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearattention_i8
#define TW_Q int8_t
#define TW_K int8_t
#define TW_V int8_t
#define TW_Y int8_t
#endif

#define LOWEST (-(1 << 15)) /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */

typedef tw_qlinearattention_params params_type;

/* The query without its zero point; returns what the keys' zero point adds to each of its products. */
static uint32_t centre(const TW_Q *q, int32_t zero, int32_t k_zero, int32_t length, int32_t *restrict wide) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < length; i++) {
    wide[i] = q[i] - zero;
    sum += (uint32_t)wide[i];
  }
  return sum * (uint32_t)k_zero;
}

static uint32_t dot(const int32_t *q, const TW_K *k, int32_t length) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < length; i++) sum += (uint32_t)q[i] * (uint32_t)(int32_t)k[i];
  return sum;
}

/* Returns the largest score. */
static int32_t score_row(const params_type *p, const int32_t *q, uint32_t excess, const TW_K *k, int32_t seen,
                         int32_t *restrict scores) {
  const int32_t step = p->rows.groups * p->rows.length;
  const tw_scaling score = p->score;
  int32_t largest = LOWEST;
  for (int32_t s = 0; s < seen; s++) {
    scores[s] = tw_scale(&score, (int32_t)(dot(q, k + s * step, p->rows.length) - excess));
    largest = scores[s] > largest ? scores[s] : largest;
  }
  return largest;
}

static int32_t power(const params_type *p, const int32_t *table, int32_t distance) {
  if (p->bits == 0) return table[distance];
  const int32_t at = distance >> p->bits;
  if (at >= p->coarse) return 0;
  const int32_t fine = table[p->coarse + (distance & ((1 << p->bits) - 1))];
  return (int32_t)(((int64_t)table[at] * fine) >> FINE_BITS);
}

/* Scores become shares without their zero point. */
static void share_row(const params_type *p, const int32_t *table, int32_t largest, int32_t seen, int32_t *row) {
  const tw_requant share = p->share;
  int64_t sum = 0;
  for (int32_t s = 0; s < seen; s++) {
    row[s] = power(p, table, largest - row[s]);
    sum += row[s];
  }
  const int64_t unit = sum > 0 ? p->numerator / sum : 0;
  for (int32_t s = 0; s < seen; s++) row[s] = tw_narrow(&share, row[s] * unit) - share.zero_point;
}

static void mix_row(const params_type *p, const int32_t *shares, const TW_V *v, int32_t seen,
                    uint32_t *restrict totals, TW_Y *y) {
  const int32_t width = p->rows.width, step = p->rows.groups * width;
  uint32_t sum = 0;
  for (int32_t e = 0; e < width; e++) totals[e] = 0;
  for (int32_t s = 0; s < seen; s++) {
    const int32_t share = shares[s];
    const TW_V *const row = v + s * step;
    if (share == 0) continue;
    sum += (uint32_t)share;
    for (int32_t e = 0; e < width; e++) totals[e] += (uint32_t)(share * row[e]);
  }
  const tw_scaling mix = p->mix;
  for (int32_t e = 0; e < width; e++) y[e] = (TW_Y)tw_scale(&mix, (int32_t)(totals[e] - sum * (uint32_t)p->v_zero));
}

static void query_row(const params_type *p, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
                      int32_t seen, TW_Y *y, int32_t *scratch) {
  int32_t *const wide = scratch, *const totals = wide + p->rows.length, *const row = totals + p->rows.width;
  const uint32_t excess = centre(q, p->q_zero, p->k_zero, p->rows.length, wide);
  const int32_t largest = score_row(p, wide, excess, k, seen, row);
  share_row(p, table, largest, seen, row);
  mix_row(p, row, v, seen, (uint32_t *)totals, y);
}

void TW_NAME(const tw_qlinearattention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v,
             const int32_t *table, const int32_t *position, TW_Y *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat;
  for (int32_t b = 0; b < r.batch; b++) {
    for (int32_t t = 0; t < r.queries; t++) {
      const int32_t seen = tw_keys_seen(&r, t, position);
      for (int32_t h = 0; h < heads; h++) {
        const int32_t group = h / r.repeat;
        query_row(params, q, k + group * r.length, v + group * r.width, table, seen, y, scratch);
        q += r.length;
        y += r.width;
      }
    }
    k += r.keys * r.groups * r.length;
    v += r.keys * r.groups * r.width;
  }
}
