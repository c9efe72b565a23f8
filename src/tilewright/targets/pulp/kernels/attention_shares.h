/* Shares of a row of an attention: exponentials of its scores by tables, and what they are of their sum. */
#ifndef TW_ATTENTION_SHARES_H
#define TW_ATTENTION_SHARES_H

#include "attention_own.h"
#include "unit_share.h"

static inline uint32_t exponential(const int32_t *table, int32_t distance) {
  return tw_x_word_at((const uint32_t *)table, distance);
}

/* Of so many words of four; x is behind them then. */
static inline __attribute__((always_inline)) uint32_t four_exponentials(int32_t **x, int32_t fours, const int32_t *table,
                                                                        int32_t largest) {
  uint32_t sum = 0;
#if TW_XPULP
  int32_t *at = *x, e0, e1, e2, e3;
  if (fours <= 0) return 0;
#define TW_A_DISTANCE(e) "sub " e ", %[largest], " e "\nslli " e ", " e ", 2\n"
#define TW_A_POWER(e) TW_A_R(TW_E_LW_AT, e, "%[table]", e)
#define TW_A_KEEP_POWER(e) TW_A_SW(e, "%[at]", "4") "add %[sum], %[sum], " e "\n"
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[fours]", 24)
                   "lw %[e0], 0(%[at])\nlw %[e1], 4(%[at])\nlw %[e2], 8(%[at])\nlw %[e3], 12(%[at])\n"
                   TW_A_DISTANCE("%[e0]") TW_A_DISTANCE("%[e1]") TW_A_DISTANCE("%[e2]") TW_A_DISTANCE("%[e3]")
                   TW_A_POWER("%[e0]") TW_A_POWER("%[e1]") TW_A_POWER("%[e2]") TW_A_POWER("%[e3]")
                   TW_A_KEEP_POWER("%[e0]") TW_A_KEEP_POWER("%[e1]") TW_A_KEEP_POWER("%[e2]") TW_A_KEEP_POWER("%[e3]")
                   TW_A_END
                   : [at] "+r"(at), [sum] "+r"(sum), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2), [e3] "=&r"(e3)
                   : [fours] "r"(fours), [table] "r"(table), [largest] "r"(largest)
                   : "memory");
  *x = at;
#else
  for (int32_t *const end = *x + 4 * fours; *x < end; ++*x) {
    **x = (int32_t)exponential(table, largest - **x);
    sum += (uint32_t)**x;
  }
#endif
  return sum;
}

/* Scores become exponentials; returns their sum. That of so many fits 32 bits: none has more than 24. */
#define TW_AT_ONCE 128
static __attribute__((noinline)) uint64_t exponential_row(const own_row *o, const int32_t *table, int32_t largest) {
  int32_t *x = o->row, *const end = x + o->seen;
  uint64_t total = 0;
  while (x < end) {
    int32_t *const stop = end - x > TW_AT_ONCE ? x + TW_AT_ONCE : end;
    uint32_t sum = 0;
    sum = four_exponentials(&x, (int32_t)(stop - x) >> 2, table, largest);
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

/* The last word of a row's shares is filled up with none. */
static inline void end_of_shares(const own_row *o) {
  uint8_t *const shares = (uint8_t *)o->row;
  for (int32_t s = o->seen; s & 3; s++) shares[s] = 0;
}

/* Exponentials become shares without their zero point, which are bytes and stored as such; returns their sum. Of products
 * with `unit` only the upper half matters, but for ties. */
static __attribute__((noinline)) int32_t share_row(const params_type *p, const own_row *o, uint64_t unit) {
  const tw_requant *const r = &p->exact.share;
  const unit_share u = unit_share_of(r, unit);
  const int32_t *x = o->row, *const end = x + o->seen;
  uint8_t *y = (uint8_t *)o->row;
  int32_t sum = 0;
#if TW_XPULP
  const int32_t fours = o->seen >> 2;
  if (fours > 0) {
    int32_t e0, e1, e2, e3, d0, d1, d2, d3;
#define TW_A_LOWER(d, e) "mulhu " d ", " e ", %[lower]\n"
#define TW_A_UPPER(d, e) TW_A_R(TW_E_MAC, d, e, "%[upper]")
#define TW_A_SHARE(d) TW_A_R(TW_E_ADDN, d, "%[half]", "%[shift]")
#define TW_A_MOST(d) TW_A_R(TW_E_CLIPU, d, d, "%[high]")
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[fours]", 24)
                     TW_A_LW("%[e0]", "%[x]", "4") TW_A_LW("%[e1]", "%[x]", "4")
                     TW_A_LW("%[e2]", "%[x]", "4") TW_A_LW("%[e3]", "%[x]", "4")
                     TW_A_LOWER("%[d0]", "%[e0]") TW_A_LOWER("%[d1]", "%[e1]")
                     TW_A_LOWER("%[d2]", "%[e2]") TW_A_LOWER("%[d3]", "%[e3]")
                     TW_A_UPPER("%[d0]", "%[e0]") TW_A_UPPER("%[d1]", "%[e1]")
                     TW_A_UPPER("%[d2]", "%[e2]") TW_A_UPPER("%[d3]", "%[e3]")
                     TW_A_FOUR(TW_A_SHARE, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
                     TW_A_FOUR(TW_A_MOST, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
                     TW_A_PACK4("%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_SW("%[d0]", "%[y]", "4")
                     TW_A_R(TW_E_SDOTUP4, "%[sum]", "%[d0]", "%[ones]") TW_A_END
                     : [x] "+r"(x), [y] "+r"(y), [sum] "+r"(sum), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2),
                       [e3] "=&r"(e3), [d0] "=&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3)
                     : [fours] "r"(fours), [lower] "r"(u.lower), [upper] "r"(u.upper), [half] "r"(u.half),
                       [shift] "r"(u.shift), [high] "r"(u.high), [ones] "r"(0x01010101)
                     : "memory");
  }
#endif
  for (; x < end; x++) {
    const int32_t share = shared(&u, *x);
    *y++ = (uint8_t)share;
    sum += share;
  }
  end_of_shares(o);
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
  end_of_shares(o);
  return sum;
}

static inline int32_t share_out(const params_type *p, const own_row *o) {
  const uint64_t unit = unit_of((uint64_t)p->exact.numerator, o->total);
  return may_tie(unit, p->exact.share.shift) ? share_row_exactly(p, o, (int64_t)unit) : share_row(p, o, unit);
}

#endif
