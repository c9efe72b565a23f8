/* Shares of each row: a second-order polynomial stands for the exponential, a shift for its powers of two. */
#include "isoftmax.h"

#include "int32.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

/* The exponential of t, which is at most 0. */
static inline uint32_t exponential(const tw_isoftmax_params *p, int32_t t) {
  const int32_t z = tw_clamp(tw_sub32(0, t / p->ln2), 0, 31);
  const int32_t shifted = tw_add32(tw_add32(t, tw_mul32(z, p->ln2)), p->b);
  const int32_t value = tw_add32(tw_mul32(p->a, tw_mul32(shifted, shifted)), p->c);
  return (uint32_t)(value >> z);
}

void TW_NAME(const tw_isoftmax_params *params, const TW_X *x, TW_Y *y) {
  const tw_isoftmax_params p = *params;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) {
    int32_t largest = x[0];
    for (int32_t i = 1; i < p.length; i++) largest = tw_max(largest, x[i]);
    uint32_t total = 0;
    for (int32_t i = 0; i < p.length; i++) total += exponential(&p, tw_sub32(x[i], largest));
    if (total == 0) total = 1;
    for (int32_t i = 0; i < p.length; i++) {
      const uint32_t share = exponential(&p, tw_sub32(x[i], largest)) * (uint32_t)p.top / total;
      y[i] = (TW_Y)(p.requantised ? tw_scale(&p.out, (int32_t)share) : (int32_t)share);
    }
  }
}
