/* Attention of bytes by pairs of 16-bit products. Elements of queries are in the order of extended words: 0, 2, 1, 3. */
#include "qlinearattention.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearattention_pairs
#define TW_Q int8_t
#define TW_K int8_t
#define TW_V int8_t
#define TW_Y int8_t
#endif

#include "attention_bytes.h"

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>
#endif

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

void TW_NAME(const tw_qlinearattention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
             const int32_t *position, TW_Y *y, void *scratch) {
  attend(params, q, k, v, table, position, y, scratch);
}
