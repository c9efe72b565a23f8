/* y = mix(softmax(score(q k')) v) of integers, over the keys that each query sees. The scores of four queries are all
 * that is ever stored. Where many queries meet the same keys, those are stored column by column first; bytes of keys and
 * values are taken as unsigned ones (int8 is moved up by 128), whose products with 16 bits compilers find faster. */
#include "qlinearattention.h"

#include "attention_blocks.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearattention_i8
#define TW_Q int8_t
#define TW_K int8_t
#define TW_V int8_t
#define TW_Y int8_t
#endif

#define LOWEST (-(1 << 15)) /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */

/* Queries and shares without their zero points: operators see to it that 16 bits are enough. */
typedef int16_t query_type;
typedef int16_t share_type;
typedef tw_qlinearattention_params params_type;

#define K_OFFSET (sizeof(TW_K) == 1 && (TW_K)-1 < 0 ? 128 : 0)
#define V_OFFSET ((TW_V)-1 < 0 ? 128 : 0)
#define AS_KEY(x) (sizeof(TW_K) == 1 ? (uint8_t)((x) + K_OFFSET) : (x))
#define TIMES_KEY(q, k) ((uint32_t)((int32_t)(q) * AS_KEY(k)))
#define TIMES_VALUE(share, v) ((uint32_t)((int32_t)(share) * (uint8_t)((v) + V_OFFSET)))

TW_DEFINE_BLOCK(score_rows, TW_ROWS, TW_COLUMNS, query_type, TW_K, uint32_t, TIMES_KEY)
TW_DEFINE_BLOCK(score_row, 1, TW_COLUMNS, query_type, TW_K, uint32_t, TIMES_KEY)
TW_DEFINE_BLOCK(mix_rows, TW_ROWS, TW_COLUMNS, share_type, TW_V, uint32_t, TIMES_VALUE)
TW_DEFINE_BLOCK(mix_few_of_rows, TW_ROWS, TW_FEW_COLUMNS, share_type, TW_V, uint32_t, TIMES_VALUE)
TW_DEFINE_FEW(mix_few, share_type, TW_V, uint32_t, TIMES_VALUE)

/* Working memory for four rows. */
typedef struct {
  int32_t *scores;
  query_type *queries;
  share_type *shares;
  TW_K *panel; /* keys column by column */
  int32_t pitch; /* keys in a row of scores, shares and the panel */
} memory;

static memory divide(const tw_attention_rows *r, void *scratch) {
  memory m;
  m.pitch = tw_panel_keys(r->keys);
  m.scores = scratch;
  m.queries = (query_type *)(m.scores + TW_ROWS * m.pitch);
  m.shares = m.queries + TW_ROWS * r->length;
  m.panel = (TW_K *)(m.shares + TW_ROWS * m.pitch);
  return m;
}

/* All keys of a group, column by column; those that fill up the last block are never seen. */
static void load_panel(const tw_attention_rows *r, const TW_K *k, const memory *m) {
  const int32_t step = r->groups * r->length;
  for (int32_t d = 0; d < r->length; d++) {
    TW_K *const to = m->panel + d * m->pitch;
    for (int32_t s = 0; s < r->keys; s++) to[s] = k[s * step + d];
    for (int32_t s = r->keys; s < m->pitch; s++) to[s] = 0;
  }
}

/* The query without its zero point; returns what the keys' zero point adds to each of its products. */
static uint32_t centre(const params_type *p, const TW_Q *q, query_type *restrict wide) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < p->rows.length; i++) {
    wide[i] = (query_type)(q[i] - p->q_zero);
    sum += (uint32_t)(int32_t)wide[i];
  }
  return sum;
}

static uint32_t dot(const query_type *q, const TW_K *k, int32_t length) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < length; i++) sum += (uint32_t)((int32_t)q[i] * k[i]);
  return sum;
}

static int32_t power(const params_type *p, const int32_t *table, int32_t distance) {
  if (p->bits == 0) return table[distance];
  const int32_t at = distance >> p->bits;
  if (at >= p->coarse) return 0;
  const int32_t fine = table[p->coarse + (distance & ((1 << p->bits) - 1))];
  return (int32_t)(((int64_t)table[at] * fine) >> FINE_BITS);
}

/* Totals become scores, and these become shares without their zero point; returns the sum of the shares. */
static uint32_t share_row(const params_type *p, const int32_t *table, uint32_t excess, int32_t seen, int32_t *row,
                          share_type *shares) {
  const tw_scaling score = p->score;
  const tw_requant share = p->share;
  int32_t largest = LOWEST;
  int64_t sum = 0;
  uint32_t total = 0;
  for (int32_t s = 0; s < seen; s++) {
    row[s] = tw_scale(&score, (int32_t)((uint32_t)row[s] - excess));
    largest = row[s] > largest ? row[s] : largest;
  }
  for (int32_t s = 0; s < seen; s++) {
    row[s] = power(p, table, largest - row[s]);
    sum += row[s];
  }
  const int64_t unit = sum > 0 ? p->numerator / sum : 0;
  for (int32_t s = 0; s < seen; s++) {
    shares[s] = (share_type)(tw_narrow(&share, row[s] * unit) - share.zero_point);
    total += (uint32_t)(int32_t)shares[s];
  }
  return total;
}

/* Some columns of the result of a row. */
static void store(const params_type *p, const uint32_t *total, uint32_t excess, int32_t columns, TW_Y *y) {
  const tw_scaling mix = p->mix;
  for (int32_t i = 0; i < columns; i++) y[i] = (TW_Y)tw_scale(&mix, (int32_t)(total[i] - excess));
}

/* Blocks of all rows at once, as far as there are four and columns enough; then row by row. */
static void mix(const params_type *p, const memory *m, const TW_V *v, int32_t rows, int32_t seen, uint32_t *sums,
                TW_Y *y, int32_t y_row) {
  const int32_t width = p->rows.width, v_row = p->rows.groups * width;
  const uint32_t zero = (uint32_t)(p->v_zero + V_OFFSET);
  int32_t e = 0;
  for (; rows == TW_ROWS && e + TW_COLUMNS <= width; e += TW_COLUMNS) {
    uint32_t total[TW_ROWS][TW_COLUMNS];
    mix_rows(m->shares, m->pitch, v + e, v_row, seen, total);
    for (int32_t r = 0; r < rows; r++) store(p, total[r], sums[r] * zero, TW_COLUMNS, y + r * y_row + e);
  }
  for (; rows == TW_ROWS && e + TW_FEW_COLUMNS <= width; e += TW_FEW_COLUMNS) {
    uint32_t total[TW_ROWS][TW_FEW_COLUMNS];
    mix_few_of_rows(m->shares, m->pitch, v + e, v_row, seen, total);
    for (int32_t r = 0; r < rows; r++) store(p, total[r], sums[r] * zero, TW_FEW_COLUMNS, y + r * y_row + e);
  }
  for (; e < width; e += TW_COLUMNS) {
    const int32_t columns = tw_min(TW_COLUMNS, width - e);
    uint32_t total[TW_COLUMNS];
    for (int32_t r = 0; r < rows; r++) {
      mix_few(m->shares + r * m->pitch, v + e, v_row, seen, columns, total);
      store(p, total, sums[r] * zero, columns, y + r * y_row + e);
    }
  }
}

/* Totals of up to TW_ROWS queries with the keys that the last one sees. */
static void multiply(const params_type *p, const memory *m, const TW_K *k, int32_t rows, int32_t seen) {
  const int32_t length = p->rows.length, step = p->rows.groups * length;
  if (!tw_needs_panel(&p->rows)) {
    for (int32_t r = 0; r < rows; r++) {
      int32_t *const row = m->scores + r * m->pitch;
      for (int32_t s = 0; s < seen; s++) row[s] = (int32_t)dot(m->queries + r * length, k + s * step, length);
    }
    return;
  }
  for (int32_t s = 0; s < seen; s += TW_COLUMNS) {
    uint32_t total[TW_ROWS][TW_COLUMNS];
    if (rows == TW_ROWS) score_rows(m->queries, length, m->panel + s, m->pitch, length, total);
    for (int32_t r = 0; r < rows; r++) {
      if (rows != TW_ROWS) score_row(m->queries + r * length, 0, m->panel + s, m->pitch, length, total + r);
      for (int32_t i = 0; i < TW_COLUMNS; i++) m->scores[r * m->pitch + s + i] = (int32_t)total[r][i];
    }
  }
}

/* Up to TW_ROWS queries of a head. */
static void block(const params_type *p, const memory *m, const TW_Q *q, const TW_K *k, const TW_V *v,
                  const int32_t *table, const int32_t *position, int32_t query, int32_t rows, TW_Y *y) {
  const tw_attention_rows *const r = &p->rows;
  const int32_t heads = r->groups * r->repeat, most = tw_keys_seen(r, query + rows - 1, position);
  const uint32_t zero = (uint32_t)(p->k_zero + (tw_needs_panel(r) ? K_OFFSET : 0));
  uint32_t excess[TW_ROWS], sums[TW_ROWS];
  for (int32_t i = 0; i < rows; i++) excess[i] = zero * centre(p, q + i * heads * r->length, m->queries + i * r->length);
  multiply(p, m, k, rows, most);
  for (int32_t i = 0; i < rows; i++) {
    const int32_t seen = tw_keys_seen(r, query + i, position);
    share_type *const shares = m->shares + i * m->pitch;
    sums[i] = share_row(p, table, excess[i], seen, m->scores + i * m->pitch, shares);
    for (int32_t s = seen; s < most; s++) shares[s] = 0;
  }
  mix(p, m, v, rows, most, sums, y, heads * r->width);
}

void TW_NAME(const tw_qlinearattention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v,
             const int32_t *table, const int32_t *position, TW_Y *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const memory m = divide(&r, scratch);
  const int32_t heads = r.groups * r.repeat;
  for (int32_t pair = 0; pair < r.batch * r.groups; pair++) {
    const int32_t b = pair / r.groups, g = pair % r.groups;
    const TW_K *const keys = k + (b * r.keys * r.groups + g) * r.length;
    const TW_V *const values = v + (b * r.keys * r.groups + g) * r.width;
    if (tw_needs_panel(&r)) load_panel(&r, keys, &m);
    for (int32_t h = g * r.repeat; h < (g + 1) * r.repeat; h++) {
      for (int32_t t = 0; t < r.queries; t += TW_ROWS) {
        const int32_t row = (b * r.queries + t) * heads + h;
        block(params, &m, q + row * r.length, keys, values, table, position, t, tw_min(TW_ROWS, r.queries - t),
              y + row * r.width);
      }
    }
  }
}
