/* y = (x * w / sigma) >> shift of bytes, clamped to 8 bits; sigma = root(mean of squares + 1); all cores together. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_irmsnorm_bytes_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "lanes.h"
#include "norm_rows.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)

/* The mean of `length` numbers whose sum this is; divisions are slow. */
static inline uint32_t mean_of(uint32_t sum, uint32_t length) {
  return (length & (length - 1)) == 0 ? sum >> tw_x_fl1(length) : sum / length;
}

static uint32_t sigma_of(const TW_X *x, int32_t length) {
  int32_t squares = 0, left = length;
#if TW_XPULP
  const int32_t pairs = length >> 3;
  if (pairs > 0) {
    int32_t first, second;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 4) TW_A_LW("%[a]", "%[x]", "4") TW_A_LW("%[b]", "%[x]", "4")
                     TW_A_DOT("%[squares]", "%[a]", "%[a]") TW_A_DOT("%[squares]", "%[b]", "%[b]") TW_A_END
                     : [x] "+r"(x), [squares] "+r"(squares), [a] "=&r"(first), [b] "=&r"(second)
                     : [pairs] "r"(pairs), [dot] "i"(TW_I_DOT(TW_X_SIGNED, TW_X_SIGNED))
                     : "memory");
  }
  left &= 7;
#endif
  for (; left > 0; left--, x++) squares = tw_x_mac(squares, *x, *x);
  return tw_root32(mean_of((uint32_t)squares, (uint32_t)length) + 1);
}

/* The quotient is that of `number`, rounded down, which is brought toward 0 by less than sigma where it is negative: then
 * it has been rounded toward 0, and shifted down. Where it saturates, the number is clipped before it is divided, which
 * is a product with a reciprocal of sigma: that is off by at most 1/2, and the product by at most 64 * sigma, which is
 * `half` of less than what a quotient of 1 / sigma is worth: 2^bits > 128 * sigma^2. Where that is a power of two the
 * reciprocal is exact. With as few bits as that, reciprocals of signed bytes' sigmas have 16 bits, as have clipped numbers:
 * cores multiply such in one cycle, others in two. */
typedef struct {
  int32_t toward_zero, shift, bound, reciprocal, half, bits;
} divisor;

static inline divisor divisor_of(int32_t sigma, int32_t shift) {
  const int32_t bits = tw_x_fl1((uint32_t)(128 * sigma * sigma - 1)) + 1;
  const int32_t reciprocal = ((1 << bits) + (sigma >> 1)) / sigma;
  const divisor d = {sigma - 1, shift, 128 * sigma - 1, reciprocal, 64 * sigma, bits};
  return d;
}

static inline int8_t divided(const divisor *d, int32_t number) {
  const int32_t shifted = (number + ((number >> 31) & d->toward_zero)) >> d->shift;
  return (int8_t)(tw_x_mac(d->half, tw_x_clip(shifted, d->bound), d->reciprocal) >> d->bits);
}

#if TW_XPULP
#define TW_A_TOWARD_ZERO(n, t) "srli " t ", " n ", 31\n" TW_A_R(TW_E_MAC, n, t, "%[toward_zero]")
#define TW_A_SHIFT(n) "sra " n ", " n ", %[shift]\n"
#define TW_A_BOUND(n) TW_A_R(TW_E_CLIP, n, n, "%[bound]")
#define TW_A_SCALE(n) "mul " n ", " n ", %[reciprocal]\n"
#define TW_A_SCALE_SHORT(n) TW_A_R(TW_E_MULS, n, n, "%[reciprocal]")
#define TW_A_ROUND(n) TW_A_R(TW_E_ADDN, n, "%[half]", "%[bits]")

#define TW_DIVIDE(SCALE)                                                                                              \
  __asm__ volatile(                                                                                                   \
      TW_A_BEGIN TW_A_LOOP("%[words]", 40) TW_A_LW("%[n3]", "%[x]", "4") TW_A_LW("%[t0]", "%[w]", "4")                \
      TW_A_LW("%[t1]", "%[w]", "4") TW_A_LW("%[t2]", "%[w]", "4") TW_A_LW("%[t3]", "%[w]", "4")                       \
      TW_A_BYTES("sign", "%[n3]", "%[n0]", "%[n1]", "%[n2]", "%[n3]")                                                 \
      "mul %[n0], %[n0], %[t0]\nmul %[n1], %[n1], %[t1]\nmul %[n2], %[n2], %[t2]\nmul %[n3], %[n3], %[t3]\n"          \
      TW_A_TOWARD_ZERO("%[n0]", "%[t0]") TW_A_TOWARD_ZERO("%[n1]", "%[t1]") TW_A_TOWARD_ZERO("%[n2]", "%[t2]")        \
      TW_A_TOWARD_ZERO("%[n3]", "%[t3]") TW_A_FOUR(TW_A_SHIFT, "%[n0]", "%[n1]", "%[n2]", "%[n3]")                    \
      TW_A_FOUR(TW_A_BOUND, "%[n0]", "%[n1]", "%[n2]", "%[n3]") TW_A_FOUR(SCALE, "%[n0]", "%[n1]", "%[n2]", "%[n3]")  \
      TW_A_FOUR(TW_A_ROUND, "%[n0]", "%[n1]", "%[n2]", "%[n3]") TW_A_PACK4("%[n0]", "%[n1]", "%[n2]", "%[n3]")        \
      TW_A_SW("%[n0]", "%[y]", "4") TW_A_END                                                                          \
      : [x] "+r"(x), [w] "+r"(w), [y] "+r"(y), [n0] "=&r"(n0), [n1] "=&r"(n1), [n2] "=&r"(n2), [n3] "=&r"(n3),        \
        [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)                                                \
      : [words] "r"(words), [toward_zero] "r"(d->toward_zero), [shift] "r"(d->shift), [bound] "r"(d->bound),          \
        [reciprocal] "r"(d->reciprocal), [half] "r"(d->half), [bits] "r"(d->bits),                                    \
        [sign] "i"(TW_I_BYTE(TW_X_SIGNED))                                                                            \
      : "memory")

static inline void divide_words(const divisor *d, const TW_X *x, const int32_t *w, int8_t *y, int32_t words) {
  int32_t n0, n1, n2, n3, t0, t1, t2, t3;
  if (TW_X_SIGNED) {
    TW_DIVIDE(TW_A_SCALE_SHORT);
  } else {
    TW_DIVIDE(TW_A_SCALE);
  }
}
#endif

static inline void some_of_row(const divisor *d, const TW_X *x, const int32_t *w, int8_t *y, int32_t count) {
  int32_t i = 0;
#if TW_XPULP
  if (count >= 4) {
    divide_words(d, x, w, y, count >> 2);
    i = count & ~3;
  }
#endif
  for (; i < count; i++) y[i] = divided(d, tw_mul32(x[i], w[i]));
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, int8_t *y) {
  const int32_t length = params->length, by_rows = params->rows >= TW_CORES;
  const tw_share all_rows = {0, params->rows}, all = {0, length};
  const tw_share rows = by_rows ? tw_share_of(params->rows) : all_rows;
  const tw_share part = by_rows ? all : tw_share_in_blocks(length, 4);
  for (int32_t row = rows.first; row < rows.end; row++) {
    const TW_X *const from = x + row * length;
    const divisor d = divisor_of((int32_t)sigma_of(from, length), params->shift);
    some_of_row(&d, from + part.first, w + part.first, y + row * length + part.first, part.end - part.first);
  }
}
