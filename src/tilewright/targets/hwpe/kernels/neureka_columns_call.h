/* The functions of a kernel that hands a tile to N-EUREKA whose filters have several columns, and of the cores that finish it. */
#ifndef TW_NEUREKA_COLUMNS_CALL_H
#define TW_NEUREKA_COLUMNS_CALL_H

#include "dot.h"
#include "neureka_columns.h"
#include "neureka_finish.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)

/* Totals plus the products of one or two words of the row with those of each column, `step` bytes apart. */
static inline void tw_add_word(int32_t *total, const int8_t *rest, int32_t step, uint32_t x, int32_t count) {
#if TW_XPULP
  int32_t t;
  uint32_t w;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 4) TW_A_LW_STEP("%[w]", "%[rest]", "%[step]")
                   "lw %[t], 0(%[total])\n" TW_A_DOT("%[t]", "%[x]", "%[w]") TW_A_SW("%[t]", "%[total]", "4") TW_A_END
                   : [t] "=&r"(t), [w] "=&r"(w), [total] "+r"(total), [rest] "+r"(rest)
                   : [count] "r"(count), [step] "r"(step), [x] "r"(x), [dot] "i"(TW_I_DOT(TW_X_SIGNED, 1))
                   : "memory");
#else
  for (; count > 0; count--, total++, rest += step) *total = tw_dot(*total, x, tw_x_load(rest), TW_X_SIGNED, 1);
#endif
}

static inline void tw_add_two_words(int32_t *total, const int8_t *rest, int32_t step, const TW_X *x, int32_t count) {
  const uint32_t x0 = tw_x_load(x), x1 = tw_x_load(x + 4);
#if TW_XPULP
  const int8_t *second = rest + 4;
  int32_t t;
  uint32_t w0, w1;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 6) TW_A_LW_STEP("%[w0]", "%[rest]", "%[step]")
                   "lw %[t], 0(%[total])\n" TW_A_LW_STEP("%[w1]", "%[second]", "%[step]")
                   TW_A_DOT("%[t]", "%[x0]", "%[w0]") TW_A_DOT("%[t]", "%[x1]", "%[w1]")
                   TW_A_SW("%[t]", "%[total]", "4") TW_A_END
                   : [t] "=&r"(t), [w0] "=&r"(w0), [w1] "=&r"(w1), [total] "+r"(total), [rest] "+r"(rest),
                     [second] "+r"(second)
                   : [count] "r"(count), [step] "r"(step), [x0] "r"(x0), [x1] "r"(x1),
                     [dot] "i"(TW_I_DOT(TW_X_SIGNED, 1))
                   : "memory");
#else
  tw_add_word(total, rest, step, x0, count);
  tw_add_word(total, rest + 4, step, x1, count);
#endif
}

static inline void tw_add_rest(const tw_neureka_columns_params *p, int32_t *totals, const TW_X *x, const int8_t *rest,
                               int32_t count) {
  const int32_t words = p->words, step = 4 * words;
  int32_t word = 0;
  for (; word + 2 <= words; word += 2) tw_add_two_words(totals, rest + 4 * word, step, x + 4 * word, count);
  if (word < words) tw_add_word(totals, rest + 4 * word, step, tw_x_load(x + 4 * word), count);
}

#if TW_XPULP
/* ---- by high words, two results at a time ---- */

typedef struct {
  int32_t *total;
  const int8_t *rest;
  const int32_t *bias, *mul;
  TW_Y *y;
  int32_t pairs;
} tw_column_pairs;

#define TW_A_NO_REST(t)
#define TW_A_ONE_REST(t) TW_A_LW_STEP("%[w0]", "%[rest]", "%[step]") TW_A_DOT(t, "%[x0]", "%[w0]")
#define TW_A_TWO_RESTS(t)                                                                            \
  "lw %[w1], 4(%[rest])\n" TW_A_LW_STEP("%[w0]", "%[rest]", "%[step]") TW_A_DOT(t, "%[x1]", "%[w1]") \
  TW_A_DOT(t, "%[x0]", "%[w0]")
#define TW_A_BOTH_COLUMNS(DO) DO("%[b0]", "%[t0]", "%[m0]") DO("%[b1]", "%[t1]", "%[m1]")
#define TW_A_COLUMN_LOAD(b, t, m) TW_A_LW(b, "%[bias]", "4") TW_A_LW(m, "%[mul]", "4")
#define TW_A_COLUMN_LARGER(b, t, m) TW_A_R(TW_E_MAC, b, t, "%[larger]")
#define TW_A_COLUMN_HIGH(b, t, m) "mulh " b ", " b ", " m "\n"
#define TW_A_COLUMN_ROUND(b, t, m) TW_A_R(TW_E_ADDN, b, "%[summand]", "%[shift]")
#define TW_A_COLUMN_CLIP(b, t, m) TW_A_R(TW_E_CLIP, b, b, "%[high]")
#define TW_A_COLUMN_STORE(b, t, m) ".insn s 0x2b, %[store], " b ", %[bytes](%[y])\n"

/* So many products with the rest take so many instructions for each result. */
#define TW_COLUMN_PAIRS(name, REST, instructions)                                                                      \
  static inline void name(const tw_neureka_finished_params *p, tw_column_pairs *c, int32_t step, const TW_X *x) {      \
    const uint32_t x0 = instructions > 0 ? tw_x_load(x) : 0, x1 = instructions > 2 ? tw_x_load(x + 4) : 0;             \
    const int32_t high = p->low + p->top, summand = p->summand + (int32_t)((uint32_t)p->low << p->shift);              \
    int32_t t0, t1, b0, b1, m0, m1;                                                                                    \
    uint32_t w0, w1;                                                                                                   \
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", (16 + 2 * instructions)) TW_A_LW("%[t0]", "%[total]", "4")       \
                     TW_A_LW("%[t1]", "%[total]", "4") REST("%[t0]") REST("%[t1]") TW_A_BOTH_COLUMNS(TW_A_COLUMN_LOAD) \
                     TW_A_BOTH_COLUMNS(TW_A_COLUMN_LARGER) TW_A_BOTH_COLUMNS(TW_A_COLUMN_HIGH)                         \
                     TW_A_BOTH_COLUMNS(TW_A_COLUMN_ROUND) TW_A_BOTH_COLUMNS(TW_A_COLUMN_CLIP)                          \
                     TW_A_BOTH_COLUMNS(TW_A_COLUMN_STORE) TW_A_END                                                     \
                     : [total] "+r"(c->total), [rest] "+r"(c->rest), [bias] "+r"(c->bias), [mul] "+r"(c->mul),         \
                       [y] "+r"(c->y), [t0] "=&r"(t0), [t1] "=&r"(t1), [b0] "=&r"(b0), [b1] "=&r"(b1),                 \
                       [m0] "=&r"(m0), [m1] "=&r"(m1), [w0] "=&r"(w0), [w1] "=&r"(w1)                                  \
                     : [pairs] "r"(c->pairs), [step] "r"(step), [x0] "r"(x0), [x1] "r"(x1), [larger] "r"(1 << p->up),  \
                       [summand] "r"(summand), [shift] "r"(p->shift), [high] "r"(high), TW_PIXEL_STORE,                \
                       [dot] "i"(TW_I_DOT(TW_X_SIGNED, 1))                                                             \
                     : "memory");                                                                                      \
  }
TW_COLUMN_PAIRS(tw_columns_without_rest, TW_A_NO_REST, 0)
TW_COLUMN_PAIRS(tw_columns_with_one, TW_A_ONE_REST, 2)
TW_COLUMN_PAIRS(tw_columns_with_two, TW_A_TWO_RESTS, 4)

/* Whether results have a bias, are as far from 0 on both sides, and there are at most two words of the rest. */
static inline int tw_is_by_pairs(const tw_neureka_columns_params *p, const tw_finishing *k) {
  const tw_neureka_finished_params *const f = &p->finished;
  return f->mode == TW_FINISH_HIGH && k->bias && f->low == ~(f->low + f->top) && p->words <= 2;
}
#endif

/* Neighbouring results of one window; returns how many of them it has made. */
static __attribute__((noinline)) int32_t tw_finish_pairs(const tw_neureka_columns_params *p, const tw_finishing *k,
                                                         const TW_X *x, const int8_t *rest, int32_t *totals,
                                                         int32_t first, int32_t count) {
#if TW_XPULP
  const int32_t step = 4 * p->words;
  tw_column_pairs c = {totals, rest + step * first, k->bias + first, k->mul + first, k->y + first, count >> 1};
  if (count < 2 || !tw_is_by_pairs(p, k)) return 0;
  if (p->words == 0) {
    tw_columns_without_rest(&p->finished, &c, step, x);
  } else if (p->words == 1) {
    tw_columns_with_one(&p->finished, &c, step, x);
  } else {
    tw_columns_with_two(&p->finished, &c, step, x);
  }
  return count & ~1;
#else
  (void)p, (void)k, (void)x, (void)rest, (void)totals, (void)first, (void)count;
  return 0;
#endif
}

/* This core's share of the columns, run by run. */
static inline void tw_finish_columns(const tw_neureka_columns_params *p, const tw_finishing *k, const TW_X *x,
                                     const int8_t *rest, int32_t *totals) {
  const tw_share share = tw_share_of(p->finished.filters);
  const int32_t run = p->run, runs = (int32_t)((uint32_t)share.first / (uint32_t)run);
  const int32_t block = (int32_t)((uint32_t)runs / (uint32_t)p->windows);
  int32_t first = share.first, window = runs - block * p->windows, within = first - runs * run;
  totals += block * run;
  while (first < share.end) {
    const int32_t count = tw_x_min(run - within, share.end - first);
    int32_t *const own = totals + window * p->window + within;
    const int32_t done = tw_finish_pairs(p, k, x + p->read, rest, own, first, count);
    if (done < count) {
      if (p->words) tw_add_rest(p, own + done, x + p->read, rest + 4 * p->words * (first + done), count - done);
      tw_finish_part(k, own + done, first + done, count - done);
    }
    first += count, within = 0;
    if (++window == p->windows) window = 0, totals += run;
  }
}

void TW_NAME(const tw_neureka_columns_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, const int32_t *add, const int8_t *rest, TW_Y *y, void *scratch) {
  (void)add, (void)rest, (void)y;
  tw_neureka_start_finished(&params->finished, x, w, scale, bias, scratch);
}

void TW_FINISH(const tw_neureka_columns_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, const int8_t *rest, TW_Y *y, void *scratch) {
  (void)w;
  tw_finishing k;
  k.p = &params->finished, k.totals = scratch, k.bias = bias, k.mul = (const int32_t *)(const void *)scale, k.add = add;
  k.y = y;
  tw_finish_columns(params, &k, x, rest, scratch);
}

#endif
