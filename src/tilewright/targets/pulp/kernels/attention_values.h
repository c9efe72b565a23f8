/* The products of a row of shares with the values of an attention. */
#ifndef TW_ATTENTION_VALUES_H
#define TW_ATTENTION_VALUES_H

#include "attention_own.h"

#define TW_A_SHARES_DOT(t, v) TW_A_DOT(t, "%[four]", v)

/* Totals of four columns of v. */
static inline __attribute__((always_inline)) void mix_four(const own_row *o, const TW_V *v, int32_t step, int32_t keys,
                                                           int32_t *total) {
  const uint8_t *shares = (const uint8_t *)o->row;
  /* The last word of shares ends with zeros for rows that are not seen, if there are any. */
  const int32_t is_whole = ((o->seen + 3) & ~3) <= keys, rest = is_whole ? 0 : o->seen & 3;
  int32_t t0 = 0, t1 = 0, t2 = 0, t3 = 0, words = (o->seen + (is_whole ? 3 : 0)) >> 2;
#if TW_XPULP
  uint32_t four, v0, v1, v2, v3, w0, w2;
  if (words > 0) {
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[words]", 21)
        TW_A_LW_STEP("%[v0]", "%[v]", "%[step]") TW_A_LW_STEP("%[v1]", "%[v]", "%[step]")
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
  if (rest && o->seen >= 4) {
    /* The last four, without what is already counted. */
    const TW_V *const last = v + (rest - 4) * step;
    const uint32_t in[4] = {tw_x_load(last), tw_x_load(last + step), tw_x_load(last + 2 * step),
                            tw_x_load(last + 3 * step)};
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

/* The same of values that are stored anew: a word of each column for four rows. */
static inline __attribute__((always_inline)) void mix_turned(const own_row *o, const uint32_t *v, int32_t *total) {
  const uint8_t *shares = (const uint8_t *)o->row;
  int32_t t0 = 0, t1 = 0, t2 = 0, t3 = 0, words = (o->seen + 3) >> 2;
#if TW_XPULP
  uint32_t four, v0, v1, v2, v3;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[words]", 9) TW_A_LW("%[four]", "%[shares]", "4") TW_A_LW("%[v0]", "%[v]", "4")
      TW_A_LW("%[v1]", "%[v]", "4") TW_A_LW("%[v2]", "%[v]", "4") TW_A_LW("%[v3]", "%[v]", "4")
      TW_A_SHARES_DOT("%[t0]", "%[v0]") TW_A_SHARES_DOT("%[t1]", "%[v1]") TW_A_SHARES_DOT("%[t2]", "%[v2]")
      TW_A_SHARES_DOT("%[t3]", "%[v3]") TW_A_END
      : [v] "+r"(v), [shares] "+r"(shares), [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3),
        [four] "=&r"(four), [v0] "=&r"(v0), [v1] "=&r"(v1), [v2] "=&r"(v2), [v3] "=&r"(v3)
      : [words] "r"(words), [dot] "i"(TW_I_DOT(0, V_SIGNED))
      : "memory");
#else
  for (; words > 0; words--, shares += 4, v += 4) {
    const uint32_t four = tw_x_load(shares);
    t0 = tw_dot(t0, four, v[0], 0, V_SIGNED), t1 = tw_dot(t1, four, v[1], 0, V_SIGNED);
    t2 = tw_dot(t2, four, v[2], 0, V_SIGNED), t3 = tw_dot(t3, four, v[3], 0, V_SIGNED);
  }
#endif
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

/* All cores together: the first `rows` rows of each group's values, strip by strip of four columns. */
static __attribute__((noinline)) void turn_values(const params_type *p, const TW_V *v, int32_t rows, uint32_t *to) {
  const tw_attention_rows *const r = &p->exact.rows;
  const int32_t strips = r->width >> 2, step = r->groups * r->width, words = (r->keys + 3) >> 2;
  const tw_share share = tw_share_of(r->batch * r->groups * strips);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t batch = r->batch == 1 ? 0 : i / (r->groups * strips), column = i - batch * r->groups * strips;
    const TW_V *from = v + batch * r->keys * step + 4 * column;
    uint32_t *at = to + 4 * words * i;
    int32_t left = rows;
    for (; left >= 4; left -= 4, from += 4 * step, at += 4) {
      const uint32_t in[4] = {tw_x_load(from), tw_x_load(from + step), tw_x_load(from + 2 * step),
                              tw_x_load(from + 3 * step)};
      tw_transpose_4x4(in, at);
    }
    if (left > 0) {
      uint32_t in[4] = {0, 0, 0, 0};
      for (int32_t j = 0; j < left; j++) in[j] = tw_x_load(from + j * step);
      tw_transpose_4x4(in, at);
    }
  }
  tw_barrier();
}

static inline int32_t requantised(const tw_upper_half *u, int32_t x) {
  const int32_t upper = (int32_t)((int64_t)x * u->mul >> 32);
  return tw_x_max(u->low, tw_x_min(((upper + u->half) >> u->shift) + u->zero, u->high));
}

static __attribute__((noinline)) void mix_row(const params_type *p, const own_row *o, const TW_V *v, int32_t sum,
                                              int8_t *y) {
  const tw_upper_half upper = p->mix;
  const int32_t is_upper = p->is_upper;
  const int32_t width = p->exact.rows.width, step = p->exact.rows.groups * width, excess = sum * p->exact.v_zero;
  const int32_t words = (p->exact.rows.keys + 3) >> 2;
  const uint32_t *turned = o->turned;
  for (int32_t e = 0; e < width; e += 4) {
    int32_t total[4];
    if (turned) {
      mix_turned(o, turned, total);
      turned += 4 * words;
    } else {
      mix_four(o, v + e, step, p->exact.rows.keys, total);
    }
    for (int f = 0; f < 4; f++) {
      const int32_t x = total[f] - excess;
      total[f] = is_upper ? requantised(&upper, x) : tw_scale(&p->exact.mix, x);
    }
    tw_x_store(y + e, tw_x_pack4(total[0], total[1], total[2], total[3]));
  }
}

#endif
