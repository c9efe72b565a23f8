/* Scores of a row of an attention: products of a query with keys, four at a time, and their requantisation. */
#ifndef TW_ATTENTION_SCORES_H
#define TW_ATTENTION_SCORES_H

#include "attention_own.h"

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

#if TW_XPULP
#define TW_A_KEY_TOTAL(t, e)                                                                               \
  "mv " t ", %[begin]\n" TW_A_R(TW_E_SDOTSP4, t, e, "%[q]") TW_A_R(TW_E_DOTSP4, e, e, "%[ones]")           \
  TW_A_R(TW_E_MAC, t, e, "%[excess]")
#define TW_A_KEY_UPPER(t) "mulh " t ", " t ", %[mul]\n"
#define TW_A_KEY_ROUND(t) TW_A_R(TW_E_ADDN, t, "%[half]", "%[shift]")
#define TW_A_KEY_MOST(t) TW_A_R(TW_E_MIN, t, t, "%[high]")
#define TW_A_KEY_LEAST(t) TW_A_R(TW_E_MAX, t, t, "%[low]")
#define TW_A_KEY_KEEP(t) TW_A_SW(t, "%[x]", "4") TW_A_R(TW_E_MAX, "%[largest]", "%[largest]", t)
#define TW_A_KEYS(DO) TW_A_FOUR(DO, "%[t0]", "%[t1]", "%[t2]", "%[t3]")

/* So many times four scores of keys that are one word each, `step` bytes apart; returns the largest. */
static inline __attribute__((always_inline)) int32_t score_words(const own_row *o, const tw_upper_half *u, int32_t q_zero,
                                                                 const TW_K *k, int32_t step, int32_t *x, int32_t fours,
                                                                 int32_t largest) {
  const uint32_t q = tw_x_load(o->query);
  int32_t t0, t1, t2, t3, e0, e1, e2, e3;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[fours]", 44)
                   TW_A_LW_STEP("%[e0]", "%[k]", "%[step]") TW_A_LW_STEP("%[e1]", "%[k]", "%[step]")
                   TW_A_LW_STEP("%[e2]", "%[k]", "%[step]") TW_A_LW_STEP("%[e3]", "%[k]", "%[step]")
                   TW_A_KEY_TOTAL("%[t0]", "%[e0]") TW_A_KEY_TOTAL("%[t1]", "%[e1]")
                   TW_A_KEY_TOTAL("%[t2]", "%[e2]") TW_A_KEY_TOTAL("%[t3]", "%[e3]")
                   TW_A_KEYS(TW_A_KEY_UPPER) TW_A_KEYS(TW_A_KEY_ROUND) TW_A_KEYS(TW_A_KEY_MOST)
                   TW_A_KEYS(TW_A_KEY_LEAST) TW_A_KEYS(TW_A_KEY_KEEP) TW_A_END
                   : [k] "+r"(k), [x] "+r"(x), [largest] "+r"(largest), [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2),
                     [t3] "=&r"(t3), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2), [e3] "=&r"(e3)
                   : [fours] "r"(fours), [step] "r"(step), [begin] "r"(o->begin), [q] "r"(q), [ones] "r"(0x01010101),
                     [excess] "r"(-q_zero), [mul] "r"(u->mul), [half] "r"(u->half), [shift] "r"(u->shift),
                     [low] "r"(u->low), [high] "r"(u->high)
                   : "memory");
  return largest;
}

static TW_COMPACT int32_t score_row_of_words(const params_type *p, const own_row *o, const TW_K *k) {
  const int32_t step = p->exact.rows.groups * 4, q_zero = p->exact.q_zero, last = o->seen - 4;
  int32_t from = 0, fours = o->seen >> 2, largest = LOWEST;
  /* One loop for both, so that its code is in the caches when the last four come, which may overlap. */
  for (;;) {
    largest = score_words(o, &p->score, q_zero, k + from * step, step, o->row + from, fours, largest);
    from += 4 * fours;
    if (from > last + 3) return largest;
    from = last, fours = 1;
  }
}
#endif

/* Scores of all keys that are seen, four at a time, of which the last ones may overlap; returns the largest. */
static __attribute__((noinline)) int32_t score_row(const params_type *p, const own_row *o, const TW_K *k) {
#if TW_XPULP
  const int32_t length = p->exact.rows.length, step = p->exact.rows.groups * length;
  const int32_t q_zero = K_IS_BYTE ? p->exact.q_zero : 0, words = K_IS_BYTE ? length >> 2 : length >> 1;
  const tw_upper_half score = p->score;
  int32_t *x = o->row, left = o->seen, largest = LOWEST;
  if (left < 4) return score_few(p, o, k);
  if (K_IS_BYTE && words == 1) return score_row_of_words(p, o, k);
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

#endif
