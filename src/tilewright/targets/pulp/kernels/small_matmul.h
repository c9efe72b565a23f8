/* Matrix products of bytes that are soon over: one factor and one summand requantise all results, in 32 bits. What can be
 * known before the network runs is known here, so that a core comes to its first product at once. */
#ifndef TW_SMALL_MATMUL_H
#define TW_SMALL_MATMUL_H

#include "cluster.h"
#include "own_requant.h"
#include "small_matmul_params.h"
#include "xpulp.h"

/* clip((clip(total, bound) * mul + add) >> shift, high) */
typedef struct {
  int32_t mul, add, bound, shift, high;
} tw_small_scale;

#define TW_SMALL_LARGEST (1u << 28)

/* Whether 32 bits give what 64 bits would. Totals are clipped where they saturate the result but not the product. */
static inline int tw_small_scale_set(tw_small_scale *s, const tw_small_matmul_params *p, const int32_t *mul,
                                     const int32_t *add) {
  const int32_t factor = mul[0], summand = add ? add[0] : 0;
  s->mul = factor;
  s->add = p->offset + summand;
  s->shift = p->requant.shift;
  s->high = p->requant.high;
  s->bound = (int32_t)((1u << (29 - tw_x_fl1((uint32_t)factor | 1))) - 1);
  const uint32_t size = summand < 0 ? 0u - (uint32_t)summand : (uint32_t)summand;
  return (uint32_t)factor - 1 < TW_SMALL_LARGEST - 1 && size < TW_SMALL_LARGEST &&
         (uint32_t)s->bound * (uint32_t)factor >= p->saturates_beyond + 2 * size;
}

/* The same where products are known to fit: totals need no clipping. */
static inline int tw_small_scale_set_safe(tw_small_scale *s, const tw_small_matmul_params *p, const int32_t *mul,
                                          const int32_t *add) {
  const int32_t factor = mul[0], summand = add ? add[0] : 0;
  s->mul = factor;
  s->add = p->offset + summand;
  s->shift = p->requant.shift;
  s->high = p->requant.high;
  return (uint32_t)factor <= p->safe_mul && (uint32_t)summand + TW_SMALL_LARGEST < 2 * TW_SMALL_LARGEST;
}

static inline int32_t tw_small_finish(const tw_small_scale *s, int32_t total, int is_signed) {
  const int32_t value = tw_x_mac(s->add, total, s->mul) >> s->shift;
  return is_signed ? tw_x_clip(value, s->high) : tw_x_clipu(value, s->high);
}

static inline int32_t tw_small_finish_clipped(const tw_small_scale *s, int32_t total, int is_signed) {
  return tw_small_finish(s, tw_x_clip(total, s->bound), is_signed);
}

/* The quotient; what is left stays in `number`. Divisions are slow, and most divisors here are 1 or larger. */
static inline int32_t tw_small_split(int32_t *number, int32_t by) {
  int32_t quotient = 0;
  if (by == 1) {
    quotient = *number;
  } else if (*number >= by) {
    quotient = (int32_t)((uint32_t)*number / (uint32_t)by);
  }
  *number -= quotient * by;
  return quotient;
}

/* The way for all other factors and summands: this core's rows of all matrices, one result after the other. */
#define TW_DEFINE_SMALL_EXACTLY(A, B, Y)                                                                             \
  static TW_COMPACT void exactly(const tw_small_matmul_params *p, const A *a, const B *b, const int32_t *c, int32_t mul, \
                                 int32_t add, Y *y) {                                                                \
    const tw_share share = tw_share_of(p->batches * p->rows);                                                        \
    for (int32_t unit = share.first; unit < share.end; unit++) {                                                     \
      const int32_t batch = unit / p->rows, row = unit - batch * p->rows;                                            \
      for (int32_t column = 0; column < p->columns; column++) {                                                      \
        const A *const left = a + batch * p->stride_a + row * p->a_row;                                              \
        const B *const right = b + batch * p->stride_b + column * p->b_column;                                       \
        int32_t total = c ? c[batch * p->stride_c + column * p->c_column] : 0;                                       \
        for (int32_t k = 0; k < p->inner; k++) total = tw_x_mac(total, left[k], right[k * p->b_row]);                \
        y[batch * p->stride_y + row * p->y_row + column] = (Y)tw_requantise_byte(&p->requant, total, mul, add);           \
      }                                                                                                              \
    }                                                                                                                \
  }

#endif
