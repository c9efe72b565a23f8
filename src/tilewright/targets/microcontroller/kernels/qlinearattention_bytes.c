/* Attention of bytes, one product at a time. */
#include "qlinearattention.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearattention_bytes
#define TW_Q int8_t
#define TW_K int8_t
#define TW_V int8_t
#define TW_Y int8_t
#endif

#include "attention_bytes.h"
#include "multiply_add.h"

static int32_t centre(const params_type *p, const TW_Q *q, int16_t *wide) {
  int32_t sum = 0;
  for (int32_t i = 0; i < p->rows.length; i++) {
    const int32_t value = q[i] - p->q_zero;
    wide[i] = (int16_t)value;
    sum += value;
  }
  return sum * p->k_zero;
}

static __attribute__((noinline)) void four_scores(const memory *m, const TW_K *a, const TW_K *b, int32_t length,
                                                  int32_t at) {
  const int16_t *p = m->queries[0], *q = m->queries[1];
  int32_t pa = 0, pb = 0, qa = 0, qb = 0;
#define TW_NEXT(i)                                                       \
  do {                                                                   \
    const int32_t of_a = a[i], of_b = b[i], of_p = p[i], of_q = q[i];    \
    TW_MAC_2(of_a, pa, qa, of_p, of_q);                                  \
    TW_MAC_2(of_b, pb, qb, of_p, of_q);                                  \
  } while (0)
  for (; length >= 4; length -= 4, a += 4, b += 4, p += 4, q += 4) {
    TW_NEXT(0);
    TW_NEXT(1);
    TW_NEXT(2);
    TW_NEXT(3);
  }
  for (; length > 0; length--, a++, b++, p++, q++) TW_NEXT(0);
#undef TW_NEXT
  m->scores[0][at] = pa, m->scores[0][at + 1] = pb;
  m->scores[1][at] = qa, m->scores[1][at + 1] = qb;
}

static __attribute__((noinline)) void mix_four(const memory *m, const TW_V *v, int32_t v_row, int32_t seen,
                                               int32_t total[TW_QUERIES][4]) {
  const int16_t *p = m->shares[0], *q = m->shares[1];
  int32_t p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0;
  for (; seen > 0; seen--, v += v_row) {
    const int32_t v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3], of_p = *p++, of_q = *q++;
    TW_MAC_4(of_p, p0, p1, p2, p3, v0, v1, v2, v3);
    TW_MAC_4(of_q, q0, q1, q2, q3, v0, v1, v2, v3);
  }
  total[0][0] = p0, total[0][1] = p1, total[0][2] = p2, total[0][3] = p3;
  total[1][0] = q0, total[1][1] = q1, total[1][2] = q2, total[1][3] = q3;
}

void TW_NAME(const tw_qlinearattention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *table,
             const int32_t *position, TW_Y *y, void *scratch) {
  attend(params, q, k, v, table, position, y, scratch);
}
