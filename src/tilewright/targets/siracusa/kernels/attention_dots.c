/* Attention of bytes with tokens first: scores, softmax by tables and values, row by row; all cores of a cluster together.
 *
 * A core takes a row (a query of a head) from products to results, and has its scores in 32 bits. Four keys meet a query
 * at a time. Values stay where they are: four rows of four are transposed in registers where a word of shares meets them. */
#include "attention_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_attention_dots_i8
#define TW_K int8_t
#define TW_V int8_t
#endif

#include "cluster.h"
#include "dot.h"
#include "pack8.h"

#define LOWEST INT32_MIN /* no score is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */
#define K_IS_BYTE (sizeof(TW_K) == 1)
#define V_SIGNED ((TW_V)-1 < 0)

typedef tw_attention_dots_params params_type;

/* What a core has of a row: its query as it is multiplied, and scores, then exponentials, then shares as bytes. */
typedef struct {
  const void *query;
  int32_t begin; /* what totals begin with, for the zero points */
  int32_t *row;
  int32_t seen;
  const TW_K *keys;
  const TW_V *values;
  int8_t *y;
  int32_t largest; /* score */
  uint64_t total;  /* of the exponentials */
} own_row;

/* ---- totals ---- */

#if TW_XPULP
#define TW_A_FOUR_KEYS(DOT)                                                                                           \
  TW_A_LW("%[own]", "%[q]", "4") TW_A_LW("%[e0]", "%[k0]", "4") TW_A_LW("%[e1]", "%[k1]", "4")                        \
  TW_A_R(DOT, "%[t0]", "%[e0]", "%[own]") TW_A_LW("%[e0]", "%[k2]", "4") TW_A_R(DOT, "%[t1]", "%[e1]", "%[own]")      \
  TW_A_LW("%[e1]", "%[k3]", "4") TW_A_R(DOT, "%[t2]", "%[e0]", "%[own]") TW_A_R(DOT, "%[t3]", "%[e1]", "%[own]")
#define TW_FOUR_KEYS(DOT)                                                                                             \
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[words]", 9) TW_A_FOUR_KEYS(DOT) TW_A_END                                   \
                   : [q] "+r"(q), [k0] "+r"(k0), [k1] "+r"(k1), [k2] "+r"(k2), [k3] "+r"(k3), [t0] "+r"(t0),          \
                     [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [own] "=&r"(own), [e0] "=&r"(e0), [e1] "=&r"(e1)    \
                   : [words] "r"(words)                                                                               \
                   : "memory")
#define TW_A_FOUR_CENTRED                                                                                             \
  TW_A_LW("%[own]", "%[q]", "4") TW_A_LW("%[e0]", "%[k0]", "4") TW_A_LW("%[e1]", "%[k1]", "4")                        \
  TW_A_R(TW_E_SDOTSP4, "%[t0]", "%[e0]", "%[own]") TW_A_R(TW_E_SDOTSP4, "%[s0]", "%[e0]", "%[ones]")                  \
  TW_A_LW("%[e0]", "%[k2]", "4") TW_A_R(TW_E_SDOTSP4, "%[t1]", "%[e1]", "%[own]")                                     \
  TW_A_R(TW_E_SDOTSP4, "%[s1]", "%[e1]", "%[ones]") TW_A_LW("%[e1]", "%[k3]", "4")                                    \
  TW_A_R(TW_E_SDOTSP4, "%[t2]", "%[e0]", "%[own]") TW_A_R(TW_E_SDOTSP4, "%[s2]", "%[e0]", "%[ones]")                  \
  TW_A_R(TW_E_SDOTSP4, "%[t3]", "%[e1]", "%[own]") TW_A_R(TW_E_SDOTSP4, "%[s3]", "%[e1]", "%[ones]")
#endif

/* The product of a query with one key: of bytes, or of 16 bits. */
static inline int32_t key_product(const void *query, const TW_K *k, int32_t length) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < length; i++) {
    const int32_t q = K_IS_BYTE ? ((const int8_t *)query)[i] : ((const int16_t *)query)[i];
    sum += (uint32_t)(q * k[i]);
  }
  return (int32_t)sum;
}

static inline int32_t key_sum(const TW_K *k, int32_t length) {
  int32_t sum = 0;
  for (int32_t i = 0; i < length; i++) sum += k[i];
  return sum;
}

#if TW_XPULP
/* Four keys from `k0` on, `step` elements apart. */
static inline __attribute__((always_inline)) void four_totals(const own_row *o, const TW_K *k0, int32_t step, int32_t words,
                                                              int32_t q_zero, int32_t *to) {
  const TW_K *k1 = k0 + step, *k2 = k1 + step, *k3 = k2 + step;
  const void *q = o->query;
  int32_t t0 = o->begin, t1 = t0, t2 = t0, t3 = t0;
  uint32_t own, e0, e1;
  if (!K_IS_BYTE) {
    TW_FOUR_KEYS(TW_E_SDOTSP2);
  } else if (q_zero == 0) {
    TW_FOUR_KEYS(TW_E_SDOTSP4);
  } else {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[words]", 13) TW_A_FOUR_CENTRED TW_A_END
                     : [q] "+r"(q), [k0] "+r"(k0), [k1] "+r"(k1), [k2] "+r"(k2), [k3] "+r"(k3), [t0] "+r"(t0),
                       [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2),
                       [s3] "+r"(s3), [own] "=&r"(own), [e0] "=&r"(e0), [e1] "=&r"(e1)
                     : [words] "r"(words), [ones] "r"(0x01010101)
                     : "memory");
    t0 = tw_x_mac(t0, s0, -q_zero), t1 = tw_x_mac(t1, s1, -q_zero);
    t2 = tw_x_mac(t2, s2, -q_zero), t3 = tw_x_mac(t3, s3, -q_zero);
  }
  to[0] = t0, to[1] = t1, to[2] = t2, to[3] = t3;
}
#endif

/* Scores are counted from their zero point: nothing but their differences matters. */
static inline int32_t scored(const tw_upper_half *u, int32_t x) {
  const int32_t upper = (int32_t)((int64_t)x * u->mul >> 32);
  return tw_x_max(u->low, tw_x_min((upper + u->half) >> u->shift, u->high));
}

static inline int32_t one_total(const own_row *o, const TW_K *k, int32_t length, int32_t q_zero) {
  const int32_t sum = q_zero ? key_sum(k, length) : 0;
  return o->begin + key_product(o->query, k, length) - q_zero * sum;
}

/* The same for few keys. */
static TW_COMPACT int32_t score_few(const params_type *p, const own_row *o, const TW_K *k) {
  const int32_t length = p->exact.rows.length, step = p->exact.rows.groups * length;
  int32_t largest = LOWEST;
  for (int32_t s = 0; s < o->seen; s++, k += step) {
    o->row[s] = scored(&p->score, one_total(o, k, length, K_IS_BYTE ? p->exact.q_zero : 0));
    largest = tw_x_max(largest, o->row[s]);
  }
  return largest;
}

/* Scores of all keys that are seen, four at a time, of which the last ones may overlap; returns the largest. */
static __attribute__((noinline)) int32_t score_row(const params_type *p, const own_row *o, const TW_K *k) {
#if TW_XPULP
  const int32_t length = p->exact.rows.length, step = p->exact.rows.groups * length;
  const int32_t q_zero = K_IS_BYTE ? p->exact.q_zero : 0, words = K_IS_BYTE ? length >> 2 : length >> 1;
  const tw_upper_half score = p->score;
  int32_t *x = o->row, left = o->seen, largest = LOWEST;
  if (left < 4) return score_few(p, o, k);
  for (;;) {
    int32_t t[4];
    four_totals(o, k, step, words, q_zero, t);
    const int32_t t0 = scored(&score, t[0]), t1 = scored(&score, t[1]);
    const int32_t t2 = scored(&score, t[2]), t3 = scored(&score, t[3]);
    x[0] = t0, x[1] = t1, x[2] = t2, x[3] = t3;
    largest = tw_x_max(largest, tw_x_max(tw_x_max(t0, t1), tw_x_max(t2, t3)));
    left -= 4;
    if (left == 0) return largest;
    const int32_t on = tw_x_min(4, left);
    left = tw_x_max(4, left);
    x += on;
    k += on == 4 ? 4 * step : on * step;
  }
#else
  return score_few(p, o, k);
#endif
}

static TW_COMPACT int32_t score_row_exactly(const params_type *p, const own_row *o, const TW_K *k) {
  const int32_t length = p->exact.rows.length, step = p->exact.rows.groups * length;
  int32_t largest = LOWEST;
  for (int32_t s = 0; s < o->seen; s++, k += step) {
    o->row[s] = tw_scale(&p->exact.score, one_total(o, k, length, K_IS_BYTE ? p->exact.q_zero : 0));
    largest = tw_x_max(largest, o->row[s]);
  }
  return largest;
}

static inline uint32_t exponential(const int32_t *table, int32_t distance) {
  return tw_x_word_at((const uint32_t *)table, distance);
}

/* Scores become exponentials; returns their sum. That of so many fits 32 bits: none has more than 24. */
#define TW_AT_ONCE 128
static __attribute__((noinline)) uint64_t exponential_row(const own_row *o, const int32_t *table, int32_t largest) {
  int32_t *x = o->row, *const end = x + o->seen;
  uint64_t total = 0;
  while (x < end) {
    int32_t *const stop = end - x > TW_AT_ONCE ? x + TW_AT_ONCE : end;
    uint32_t sum = 0;
    for (; x + 4 <= stop; x += 4) {
      const uint32_t e0 = exponential(table, largest - x[0]), e1 = exponential(table, largest - x[1]);
      const uint32_t e2 = exponential(table, largest - x[2]), e3 = exponential(table, largest - x[3]);
      x[0] = (int32_t)e0, x[1] = (int32_t)e1, x[2] = (int32_t)e2, x[3] = (int32_t)e3;
      sum += e0 + e1 + (e2 + e3);
    }
    for (; x < stop; x++) sum += (uint32_t)(*x = (int32_t)exponential(table, largest - *x));
    total += sum;
  }
  return total;
}

/* The same of 16 bits, by two tables. */
static __attribute__((noinline)) uint64_t fine_exponential_row(const params_type *p, const own_row *o, const int32_t *table,
                                                               int32_t largest) {
  const int32_t bits = p->exact.bits, coarse = p->exact.coarse, mask = (1 << bits) - 1;
  const uint32_t *const coarse_table = (const uint32_t *)table, *const fine_table = coarse_table + coarse;
  uint64_t total = 0;
  for (int32_t *x = o->row, *const end = x + o->seen; x < end; x++) {
    const int32_t distance = largest - *x, at = distance >> bits;
    uint32_t e = 0;
    if (at < coarse) {
      const uint64_t product = (uint64_t)tw_x_word_at(coarse_table, at) * tw_x_word_at(fine_table, distance & mask);
      e = (uint32_t)(product >> FINE_BITS);
    }
    *x = (int32_t)e;
    total += e;
  }
  return total;
}

/* What a share is of an exponential: the upper half of its product with `unit`, which is never negative. */
typedef struct {
  uint32_t upper, lower;
  int32_t half, shift, high;
} unit_share;

static inline int32_t shared(const unit_share *u, int32_t exponential) {
  const uint32_t e = (uint32_t)exponential, more = (uint32_t)((uint64_t)e * u->lower >> 32);
  return tw_x_min((int32_t)((uint32_t)tw_x_mac_words(u->half, e, u->upper) + more) >> u->shift, u->high);
}

/* Exponentials become shares without their zero point, which are bytes and stored as such; returns their sum. Of products
 * with `unit` only the upper half matters, but for ties. */
static __attribute__((noinline)) int32_t share_row(const params_type *p, const own_row *o, uint64_t unit) {
  const tw_requant *const r = &p->exact.share;
  const int32_t shift = r->shift - 32;
  const unit_share u = {(uint32_t)(unit >> 32), (uint32_t)unit, (1 << shift) >> 1, shift, r->high - r->zero_point};
  const int32_t *x = o->row, *const end = x + o->seen;
  uint8_t *y = (uint8_t *)o->row;
  int32_t sum = 0;
  for (; x + 4 <= end; x += 4, y += 4) {
    const int32_t y0 = shared(&u, x[0]), y1 = shared(&u, x[1]), y2 = shared(&u, x[2]), y3 = shared(&u, x[3]);
    const uint32_t four = tw_x_pack4(y0, y1, y2, y3);
    tw_x_store(y, four);
    sum = tw_x_sdotup4(sum, four, 0x01010101u);
  }
  for (; x < end; x++) {
    const int32_t share = shared(&u, *x);
    *y++ = (uint8_t)share;
    sum += share;
  }
  return sum;
}

static TW_COMPACT int32_t share_row_exactly(const params_type *p, const own_row *o, int64_t unit) {
  const tw_requant *const r = &p->exact.share;
  uint8_t *const y = (uint8_t *)o->row;
  int32_t sum = 0;
  for (int32_t s = 0; s < o->seen; s++) {
    const int32_t share = tw_narrow(r, o->row[s] * unit) - r->zero_point;
    y[s] = (uint8_t)share;
    sum += share;
  }
  return sum;
}

/* Whether a product of an exponential and this number may lie between two shares: no exponential has more than 30
 * factors of 2. */
static inline int may_tie(uint64_t unit, int32_t shift) {
  const uint32_t lower = (uint32_t)unit;
  return (lower ? tw_x_ff1(lower) : 32 + tw_x_ff1((uint32_t)(unit >> 32))) + 30 >= shift - 1;
}

static inline int32_t share_out(const params_type *p, const own_row *o) {
  const uint64_t unit = o->total ? (uint64_t)p->exact.numerator / o->total : 0;
  const int32_t shift = p->exact.share.shift;
  return shift < 33 || may_tie(unit, shift) ? share_row_exactly(p, o, (int64_t)unit) : share_row(p, o, unit);
}

/* ---- values ---- */

#define TW_A_SHARES_DOT(t, v) TW_A_DOT(t, "%[four]", v)

/* Totals of four columns of v. */
static inline __attribute__((always_inline)) void mix_four(const own_row *o, const TW_V *v, int32_t step, int32_t *total) {
  const uint8_t *shares = (const uint8_t *)o->row;
  int32_t t0 = 0, t1 = 0, t2 = 0, t3 = 0, words = o->seen >> 2;
#if TW_XPULP
  uint32_t four, v0, v1, v2, v3, w0, w2;
  if (words > 0) {
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[words]", 21) TW_A_LW_STEP("%[v0]", "%[v]", "%[step]") TW_A_LW_STEP("%[v1]", "%[v]", "%[step]")
        TW_A_LW_STEP("%[v2]", "%[v]", "%[step]") TW_A_LW_STEP("%[v3]", "%[v]", "%[step]")
        TW_A_LW("%[four]", "%[shares]", "4") "mv %[w0], %[v0]\nmv %[w2], %[v2]\n"
        TW_A_R(TW_E_SHUFFLE2_4, "%[w0]", "%[v1]", "%[low]") TW_A_R(TW_E_SHUFFLE2_4, "%[w2]", "%[v3]", "%[low]")
        TW_A_R(TW_E_SHUFFLE2_4, "%[v0]", "%[v1]", "%[high]") TW_A_R(TW_E_SHUFFLE2_4, "%[v2]", "%[v3]", "%[high]")
        "mv %[v1], %[w0]\nmv %[v3], %[v0]\n"
        TW_A_R(TW_E_SHUFFLE2_4, "%[w0]", "%[w2]", "%[front]") TW_A_R(TW_E_SHUFFLE2_4, "%[v1]", "%[w2]", "%[rear]")
        TW_A_R(TW_E_SHUFFLE2_4, "%[v0]", "%[v2]", "%[front]") TW_A_R(TW_E_SHUFFLE2_4, "%[v3]", "%[v2]", "%[rear]")
        TW_A_SHARES_DOT("%[t0]", "%[w0]") TW_A_SHARES_DOT("%[t1]", "%[v1]") TW_A_SHARES_DOT("%[t2]", "%[v0]")
        TW_A_SHARES_DOT("%[t3]", "%[v3]") TW_A_END
        : [v] "+r"(v), [shares] "+r"(shares), [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3),
          [four] "=&r"(four), [v0] "=&r"(v0), [v1] "=&r"(v1), [v2] "=&r"(v2), [v3] "=&r"(v3), [w0] "=&r"(w0),
          [w2] "=&r"(w2)
        : [words] "r"(words), [step] "r"(step), [low] "r"(TW_ZIP_LOW), [high] "r"(TW_ZIP_HIGH),
          [front] "r"(TW_ZIP_FRONT), [rear] "r"(TW_ZIP_REAR), [dot] "i"(TW_I_DOT(0, V_SIGNED))
        : "memory");
  }
#else
  for (; words > 0; words--, shares += 4, v += 4 * step) {
    const uint32_t four = tw_x_load(shares);
    const uint32_t in[4] = {tw_x_load(v), tw_x_load(v + step), tw_x_load(v + 2 * step), tw_x_load(v + 3 * step)};
    uint32_t turned[4];
    tw_transpose_4x4(in, turned);
    t0 = tw_dot(t0, four, turned[0], 0, V_SIGNED), t1 = tw_dot(t1, four, turned[1], 0, V_SIGNED);
    t2 = tw_dot(t2, four, turned[2], 0, V_SIGNED), t3 = tw_dot(t3, four, turned[3], 0, V_SIGNED);
  }
#endif
  const int32_t rest = o->seen & 3;
  if (rest && o->seen >= 4) {
    /* The last four, without what is already counted. */
    const TW_V *const last = v + (rest - 4) * step;
    const uint32_t in[4] = {tw_x_load(last), tw_x_load(last + step), tw_x_load(last + 2 * step), tw_x_load(last + 3 * step)};
    const uint32_t some = tw_x_load(shares + rest - 4) & (0xffffffffu << (32 - 8 * rest));
    uint32_t turned[4];
    tw_transpose_4x4(in, turned);
    t0 = tw_dot(t0, some, turned[0], 0, V_SIGNED), t1 = tw_dot(t1, some, turned[1], 0, V_SIGNED);
    t2 = tw_dot(t2, some, turned[2], 0, V_SIGNED), t3 = tw_dot(t3, some, turned[3], 0, V_SIGNED);
  } else if (rest) {
    for (int32_t i = 0; i < rest; i++, v += step) {
      const int32_t share = shares[i];
      t0 += share * v[0], t1 += share * v[1], t2 += share * v[2], t3 += share * v[3];
    }
  }
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

static inline int32_t requantised(const tw_upper_half *u, int32_t x) {
  const int32_t upper = (int32_t)((int64_t)x * u->mul >> 32);
  return tw_x_max(u->low, tw_x_min(((upper + u->half) >> u->shift) + u->zero, u->high));
}

static __attribute__((noinline)) void mix_row(const params_type *p, const own_row *o, const TW_V *v, int32_t sum, int8_t *y) {
  const tw_upper_half upper = p->mix;
  const int32_t is_upper = p->is_upper;
  const int32_t width = p->exact.rows.width, step = p->exact.rows.groups * width, excess = sum * p->exact.v_zero;
  for (int32_t e = 0; e < width; e += 4) {
    int32_t total[4];
    mix_four(o, v + e, step, total);
    for (int f = 0; f < 4; f++) {
      const int32_t x = total[f] - excess;
      total[f] = is_upper ? requantised(&upper, x) : tw_scale(&p->exact.mix, x);
    }
    tw_x_store(y + e, tw_x_pack4(total[0], total[1], total[2], total[3]));
  }
}

/* ---- the call ---- */

/* Rows that are taken together, at most. */
#define TW_TOGETHER 8

/* The query as it is multiplied; in 16 bits without its zero point where keys have them. */
static inline void set_query(const params_type *p, const int8_t *q, int16_t *wide, own_row *o) {
  const int32_t length = p->exact.rows.length, q_zero = p->exact.q_zero;
  int32_t sum = 0;
  for (int32_t i = 0; i < length; i += 4) sum = tw_x_sdotsp4(sum, tw_x_load(q + i), 0x01010101u);
  if (!K_IS_BYTE) {
    for (int32_t i = 0; i < length; i++) wide[i] = (int16_t)(q[i] - q_zero);
  }
  o->query = K_IS_BYTE ? (const void *)q : (const void *)wide;
  o->begin = -p->exact.k_zero * (sum - length * q_zero);
}

/* The row of a number: queries from both ends in turn, as later ones see more keys than earlier ones. */
static TW_COMPACT void set_row(const params_type *p, int32_t number, const int8_t *q, const TW_K *k, const TW_V *v,
                               const int32_t *position, int8_t *y, int16_t *wide, own_row *o) {
  const tw_attention_rows *const r = &p->exact.rows;
  const int32_t heads = r->groups * r->repeat, turn = (int32_t)((uint32_t)number / (uint32_t)heads), head = number - turn * heads;
  const int32_t batch = r->batch == 1 ? 0 : turn / r->queries, group = r->repeat == 1 ? head : head / r->repeat;
  const int32_t in_turn = turn - batch * r->queries;
  const int32_t query = in_turn & 1 ? r->queries - 1 - (in_turn >> 1) : in_turn >> 1;
  const int32_t at = (batch * r->queries + query) * heads + head, first = batch * r->keys * r->groups + group;
  o->seen = tw_keys_seen(r, query, position);
  o->keys = k + first * r->length;
  o->values = v + first * r->width;
  o->y = y + at * r->width;
  set_query(p, q + at * r->length, wide, o);
}

/* Some rows, each step for all of them before the next one, so that its code stays in the caches. */
static void some_rows(const params_type *p, const int32_t *table, own_row *rows, int32_t count) {
  int32_t sums[TW_TOGETHER];
  for (int32_t i = 0; i < count; i++) {
    rows[i].largest = p->is_upper ? score_row(p, rows + i, rows[i].keys) : score_row_exactly(p, rows + i, rows[i].keys);
  }
  for (int32_t i = 0; i < count; i++) {
    own_row *const o = rows + i;
    o->total = p->exact.bits ? fine_exponential_row(p, o, table, o->largest) : exponential_row(o, table, o->largest);
  }
  for (int32_t i = 0; i < count; i++) sums[i] = share_out(p, rows + i);
  for (int32_t i = 0; i < count; i++) mix_row(p, rows + i, rows[i].values, sums[i], rows[i].y);
}

void TW_NAME(const tw_attention_dots_params *params, const int8_t *q, const TW_K *k, const TW_V *v, const int32_t *table,
             const int32_t *position, int8_t *y, void *scratch) {
  const params_type *const p = params;
  const tw_attention_rows *const r = &p->exact.rows;
  const int32_t wide = K_IS_BYTE ? 0 : 2 * ((r->length + 1) & ~1), bytes = wide + ((4 * r->keys + 7) & ~7), together = p->together;
  uint8_t *const own = (uint8_t *)scratch + (together * (bytes + (int32_t)sizeof(own_row)) + 16) * tw_core();
  own_row *const rows = (own_row *)own;
  uint8_t *const memory = own + together * (int32_t)sizeof(own_row);
  const tw_share share = tw_share_of(r->batch * r->queries * r->groups * r->repeat);
  for (int32_t next = share.first; next < share.end; next += together) {
    const int32_t count = tw_x_min(together, share.end - next);
    for (int32_t i = 0; i < count; i++) {
      rows[i].row = (int32_t *)(memory + i * bytes + wide);
      set_row(p, next + i, q, k, v, position, y, (int16_t *)(memory + i * bytes), rows + i);
    }
    some_rows(p, table, rows, count);
  }
}
