/* Totals of four neighbouring filters to bytes, for some rows of pixels: 9 cycles for each byte by high words, 7 in 32 bits,
 * 4.6 from the top of products. */
#ifndef TW_NEUREKA_RUNS_H
#define TW_NEUREKA_RUNS_H

#include "neureka_finished.h"
#include "xpulp.h"

typedef struct {
  const uint8_t *from; /* totals of the first pixel */
  uint8_t *to;
  int32_t from_step, to_step; /* bytes from pixel to pixel */
  int32_t from_gap, to_gap;   /* bytes between the end of a row and the next */
  int32_t columns, rows;
  const int32_t *bias;        /* of the four filters, besides what totals have already, or NULL */
  const int32_t *mul, *add;
} tw_run;

#if TW_XPULP

#define TW_A_FOUR(DO) DO("0") DO("1") DO("2") DO("3")
#define TW_A_TOTAL(i) "%[t" i "]"
#define TW_A_RUN_BIAS(i) "add %[t" i "], %[t" i "], %[b" i "]\n"
#define TW_A_RUN_MULH(i) "mulh %[t" i "], %[t" i "], %[m" i "]\n"
#define TW_A_RUN_MUL(i) "mul %[t" i "], %[t" i "], %[m" i "]\n"
#define TW_A_RUN_ROUND(i) TW_A_R(TW_E_ADDN, TW_A_TOTAL(i), "%[summand]", "%[shift]")
#define TW_A_RUN_ADD(i) TW_A_R(TW_E_ADDN, TW_A_TOTAL(i), "%[a" i "]", "%[shift]")
#define TW_A_RUN_BOUND(i) TW_A_R(TW_E_CLIP, TW_A_TOTAL(i), TW_A_TOTAL(i), "%[bound]")
#define TW_A_RUN_CLIP(i) TW_A_R(TW_E_CLIPU, TW_A_TOTAL(i), TW_A_TOTAL(i), "%[top]")
#define TW_A_RUN_LOAD                                                                        \
  TW_A_LW("%[t0]", "%[from]", "4")                                                           \
  TW_A_LW("%[t1]", "%[from]", "4")                                                           \
  TW_A_LW("%[t2]", "%[from]", "4")                                                           \
  TW_A_LW_STEP("%[t3]", "%[from]", "%[from_step]")
#define TW_A_RUN_STORE                                  \
  TW_A_R(TW_E_PACKLO4, "%[t0]", "%[t1]", "%[t0]")       \
  TW_A_R(TW_E_PACKHI4, "%[t0]", "%[t3]", "%[t2]")       \
  TW_A_R(TW_E_ADD4, "%[t0]", "%[t0]", "%[low]")         \
  TW_A_SW_STEP("%[t0]", "%[to]", "%[to_step]")

/* The compiler would load all of them again for each row if they were not variables. */
#define TW_RUN_VARIABLES                                                                                   \
  const uint8_t *from = r->from;                                                                           \
  uint8_t *to = r->to;                                                                                     \
  const uint32_t low = (uint32_t)(p->low & 0xff) * 0x01010101u;                                            \
  const int32_t m0 = r->mul[0], m1 = r->mul[1], m2 = r->mul[2], m3 = r->mul[3];                            \
  const int32_t shift = p->shift, top = p->top, from_step = r->from_step - 12, to_step = r->to_step;       \
  const int32_t columns = r->columns;                                                                      \
  int32_t t0, t1, t2, t3;
#define TW_RUN_BIAS const int32_t b0 = r->bias[0], b1 = r->bias[1], b2 = r->bias[2], b3 = r->bias[3];
#define TW_RUN_HIGH const int32_t summand = p->summand;
#define TW_RUN_NARROW const int32_t bound = p->bound, a0 = r->add[0], a1 = r->add[1], a2 = r->add[2], a3 = r->add[3];

#define TW_RUN_TOTALS [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [from] "+r"(from), [to] "+r"(to)
#define TW_RUN_OPERANDS                                                                                               \
  [m0] "r"(m0), [m1] "r"(m1), [m2] "r"(m2), [m3] "r"(m3), [shift] "r"(shift), [top] "r"(top), [low] "r"(low),         \
      [from_step] "r"(from_step), [to_step] "r"(to_step), [columns] "r"(columns)
#define TW_RUN_BIASES [b0] "r"(b0), [b1] "r"(b1), [b2] "r"(b2), [b3] "r"(b3)
#define TW_RUN_SUMMANDS [bound] "r"(bound), [a0] "r"(a0), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3)

#define TW_RUN_ROWS for (int32_t row = r->rows; row > 0; row--, from += r->from_gap, to += r->to_gap)
#define TW_A_HIGH TW_A_FOUR(TW_A_RUN_MULH) TW_A_FOUR(TW_A_RUN_ROUND) TW_A_FOUR(TW_A_RUN_CLIP) TW_A_RUN_STORE TW_A_END
#define TW_A_NARROW \
  TW_A_FOUR(TW_A_RUN_BOUND) TW_A_FOUR(TW_A_RUN_MUL) TW_A_FOUR(TW_A_RUN_ADD) TW_A_FOUR(TW_A_RUN_CLIP) TW_A_RUN_STORE TW_A_END

static inline void tw_run_high(const tw_neureka_finished_params *p, const tw_run *r) {
  TW_RUN_VARIABLES
  TW_RUN_HIGH
  if (r->bias == 0) {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 20) TW_A_RUN_LOAD TW_A_HIGH
                       : TW_RUN_TOTALS
                       : TW_RUN_OPERANDS, [summand] "r"(summand)
                       : "memory");
    }
    return;
  }
  TW_RUN_BIAS
  TW_RUN_ROWS {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 24) TW_A_RUN_LOAD TW_A_FOUR(TW_A_RUN_BIAS) TW_A_HIGH
                     : TW_RUN_TOTALS
                     : TW_RUN_OPERANDS, TW_RUN_BIASES, [summand] "r"(summand)
                     : "memory");
  }
}

static inline void tw_run_narrow(const tw_neureka_finished_params *p, const tw_run *r) {
  TW_RUN_VARIABLES
  TW_RUN_NARROW
  if (r->bias == 0) {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 24) TW_A_RUN_LOAD TW_A_NARROW
                       : TW_RUN_TOTALS
                       : TW_RUN_OPERANDS, TW_RUN_SUMMANDS
                       : "memory");
    }
    return;
  }
  TW_RUN_BIAS
  TW_RUN_ROWS {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 28) TW_A_RUN_LOAD TW_A_FOUR(TW_A_RUN_BIAS) TW_A_NARROW
                     : TW_RUN_TOTALS
                     : TW_RUN_OPERANDS, TW_RUN_BIASES, TW_RUN_SUMMANDS
                     : "memory");
  }
}

/* Products are totals plus `less` times themselves, which is one cycle; to multiply takes two. Of two products the upper
 * halves are put into one word, get one half of a result, and with it 128 where results are unsigned. */
#define TW_A_RUN_WITHIN(i) TW_A_R(TW_E_CLIP, TW_A_TOTAL(i), TW_A_TOTAL(i), "%[a" i "]")
#define TW_A_RUN_PRODUCT(i) TW_A_R(TW_E_MAC, TW_A_TOTAL(i), TW_A_TOTAL(i), "%[m" i "]")
#define TW_A_TOP                                     \
  TW_A_FOUR(TW_A_RUN_WITHIN) TW_A_FOUR(TW_A_RUN_PRODUCT) \
  TW_A_R(TW_E_SHUFFLE2_4, "%[t0]", "%[t1]", "%[halves]") \
  TW_A_R(TW_E_SHUFFLE2_4, "%[t2]", "%[t3]", "%[halves]") \
  TW_A_R(TW_E_ADD2, "%[t0]", "%[t0]", "%[half]")         \
  TW_A_R(TW_E_ADD2, "%[t2]", "%[t2]", "%[half]")         \
  TW_A_R(TW_E_SHUFFLE2_4, "%[t0]", "%[t2]", "%[bytes]")  \
  TW_A_SW_STEP("%[t0]", "%[to]", "%[to_step]") TW_A_END

#define TW_RUN_TOP_OPERANDS                                                                                            \
  [m0] "r"(m0), [m1] "r"(m1), [m2] "r"(m2), [m3] "r"(m3), [a0] "r"(a0), [a1] "r"(a1), [a2] "r"(a2), [a3] "r"(a3),      \
      [half] "r"(half), [halves] "r"(0x07060302), [bytes] "r"(0x07050301), [from_step] "r"(from_step),                 \
      [to_step] "r"(to_step), [columns] "r"(columns)

static inline void tw_run_top(const tw_neureka_finished_params *p, const tw_run *r) {
  const uint8_t *from = r->from;
  uint8_t *to = r->to;
  const int32_t more = p->shift, from_step = r->from_step - 12, to_step = r->to_step, columns = r->columns;
  const int32_t m0 = (r->mul[0] >> more) - 1, m1 = (r->mul[1] >> more) - 1;
  const int32_t m2 = (r->mul[2] >> more) - 1, m3 = (r->mul[3] >> more) - 1;
  const int32_t a0 = r->add[0], a1 = r->add[1], a2 = r->add[2], a3 = r->add[3];
  const uint32_t half = p->low < 0 ? 0x00800080u : 0x80808080u;
  int32_t t0, t1, t2, t3;
  if (r->bias == 0) {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 18) TW_A_RUN_LOAD TW_A_TOP
                       : TW_RUN_TOTALS
                       : TW_RUN_TOP_OPERANDS
                       : "memory");
    }
    return;
  }
  TW_RUN_BIAS
  TW_RUN_ROWS {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 22) TW_A_RUN_LOAD TW_A_FOUR(TW_A_RUN_BIAS) TW_A_TOP
                     : TW_RUN_TOTALS
                     : TW_RUN_TOP_OPERANDS, TW_RUN_BIASES
                     : "memory");
  }
}

/* Each filter has its own shift: too many for a register each of bias and signs besides, which pass through u. */
#define TW_A_RUN_EDGE(i) "lw %[u], 4*" i "(%[bias])\nadd %[t" i "], %[t" i "], %[u]\n"
/* A high word is negative where its total is. */
#define TW_A_RUN_LESS(i) "srai %[u], %[t" i "], 31\n" TW_A_R(TW_E_MAC, TW_A_TOTAL(i), "%[u]", "%[less]")
#define TW_A_ALL_MULH TW_A_FOUR(TW_A_RUN_MULH)
#define TW_A_ALL_SIGNED TW_A_FOUR(TW_A_RUN_MULH) TW_A_FOUR(TW_A_RUN_LESS)
#define TW_A_RUN_SHIFT(i) TW_A_R(TW_E_ADDN, TW_A_TOTAL(i), "%[a" i "]", "%[s" i "]")
#define TW_A_SCALED(PRODUCTS) \
  PRODUCTS TW_A_FOUR(TW_A_RUN_SHIFT) TW_A_FOUR(TW_A_RUN_CLIP) TW_A_RUN_STORE TW_A_END

#define TW_RUN_SCALED_OPERANDS                                                                                         \
  [m0] "r"(m0), [m1] "r"(m1), [m2] "r"(m2), [m3] "r"(m3), [top] "r"(top), [low] "r"(low), [from_step] "r"(from_step), \
      [to_step] "r"(to_step), [columns] "r"(columns), [a0] "r"(a[0]), [a1] "r"(a[1]), [a2] "r"(a[2]), [a3] "r"(a[3]),  \
      [s0] "r"(s[0]), [s1] "r"(s[1]), [s2] "r"(s[2]), [s3] "r"(s[3])

static inline void tw_run_scaled(const tw_neureka_finished_params *p, const tw_run *r) {
  TW_RUN_VARIABLES
  int32_t a[4], s[4], u;
  (void)shift;
  for (int i = 0; i < 4; i++) {
    s[i] = 1 - r->add[i];
    a[i] = p->summand + (p->shift << -r->add[i]);
  }
  const int32_t less = p->bound;
  const int32_t *const bias = r->bias;
  if (bias == 0 && less == 0) {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 20) TW_A_RUN_LOAD TW_A_SCALED(TW_A_ALL_MULH)
                       : TW_RUN_TOTALS
                       : TW_RUN_SCALED_OPERANDS
                       : "memory");
    }
  } else if (bias == 0) {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 28) TW_A_RUN_LOAD TW_A_SCALED(TW_A_ALL_SIGNED)
                       : TW_RUN_TOTALS, [u] "=&r"(u)
                       : TW_RUN_SCALED_OPERANDS, [less] "r"(less)
                       : "memory");
    }
  } else {
    TW_RUN_ROWS {
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 36) TW_A_RUN_LOAD TW_A_FOUR(TW_A_RUN_EDGE)
                           TW_A_SCALED(TW_A_ALL_SIGNED)
                       : TW_RUN_TOTALS, [u] "=&r"(u)
                       : TW_RUN_SCALED_OPERANDS, [less] "r"(less), [bias] "r"(bias)
                       : "memory");
    }
  }
}

#endif

static inline int32_t tw_run_scaled_result(const tw_neureka_finished_params *p, int32_t total, int32_t mul,
                                           int32_t exponent) {
  const int32_t high = (int32_t)((int64_t)total * mul >> 32) - (total < 0 ? p->bound : 0);
  return (high + p->summand + (p->shift << -exponent)) >> (1 - exponent);
}

/* One result. */
static inline int32_t tw_run_result(const tw_neureka_finished_params *p, int32_t total, int32_t mul, int32_t add) {
  if (p->mode == TW_FINISH_TOP) {
    return (tw_x_mac(1 << 23, tw_x_clip(total, add), mul >> p->shift) >> 24) + p->low + 128;
  }
  if (TW_IS_SCALED(p)) return tw_x_clipu(tw_run_scaled_result(p, total, mul, add), p->top) + p->low;
  const int32_t value = p->mode == TW_FINISH_HIGH
                            ? ((int32_t)((int64_t)total * mul >> 32) + p->summand) >> p->shift
                            : tw_x_mac(add, tw_x_clip(total, p->bound), mul) >> p->shift;
  return tw_x_clipu(value, p->top) + p->low;
}

static inline void tw_run_all(const tw_neureka_finished_params *p, const tw_run *r) {
#if TW_XPULP
  if (r->columns <= 0) return;
  if (p->mode == TW_FINISH_HIGH) {
    tw_run_high(p, r);
  } else if (p->mode == TW_FINISH_TOP) {
    tw_run_top(p, r);
  } else if (TW_IS_SCALED(p)) {
    tw_run_scaled(p, r);
  } else {
    tw_run_narrow(p, r);
  }
#else
  const uint8_t *from = r->from;
  uint8_t *to = r->to;
  for (int32_t row = 0; row < r->rows; row++, from += r->from_gap, to += r->to_gap) {
    for (int32_t x = 0; x < r->columns; x++, from += r->from_step, to += r->to_step) {
      const int32_t *const totals = (const int32_t *)(const void *)from;
      for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)tw_run_result(p, totals[i] + (r->bias ? r->bias[i] : 0), r->mul[i], r->add ? r->add[i] : 0);
      }
    }
  }
#endif
}

#endif
