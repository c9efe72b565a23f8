/* y = ((x - mean) * w / sigma + b) >> shift of bytes, wrapped to 8 bits; sigma = root(mean of squares + 1); all cores
 * together. Divisions by a row's sigma are products with its reciprocal. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_ilayernorm_bytes_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "lanes.h"
#include "norm_rows.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)

typedef struct {
  int32_t mean, sigma;
} row_values;

static row_values values_of(const TW_X *x, int32_t length) {
  int32_t sum = 0, squares = 0, left = length;
#if TW_XPULP
  const int32_t pairs = length >> 3;
  if (pairs > 0) {
    int32_t first, second;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 6) TW_A_LW("%[u]", "%[x]", "4") TW_A_LW("%[v]", "%[x]", "4")
                     TW_A_DOT("%[squares]", "%[u]", "%[u]") TW_A_DOT("%[squares]", "%[v]", "%[v]")
                     TW_A_DOT("%[sum]", "%[u]", "%[ones]") TW_A_DOT("%[sum]", "%[v]", "%[ones]") TW_A_END
                     : [x] "+r"(x), [sum] "+r"(sum), [squares] "+r"(squares), [u] "=&r"(first), [v] "=&r"(second)
                     : [pairs] "r"(pairs), [ones] "r"(0x01010101), [dot] "i"(TW_I_DOT(TW_X_SIGNED, TW_X_SIGNED))
                     : "memory");
  }
  left &= 7;
#endif
  for (; left > 0; left--, x++) sum += *x, squares += *x * *x;
  row_values values;
  values.mean = sum / length;
  /* The sum of (x - mean)^2. */
  squares += values.mean * (values.mean * length - 2 * sum);
  values.sigma = (int32_t)tw_root32((uint32_t)squares / (uint32_t)length + 1);
  return values;
}

static inline int8_t one_of_row(const row_values *v, int32_t x, int32_t w, int32_t b, int32_t shift) {
  const int32_t number = tw_mul32(x - v->mean, w);
  return (int8_t)(tw_add32(number / v->sigma, b) >> shift);
}

#if TW_XPULP
/* Quotients, rounded toward zero, of all 32-bit numbers by sigma, which is at least 2 and has `bits` bits as sigma - 1: the
 * reciprocal is 2^(31 + bits) / sigma and so little more that the product, rounded down, is the quotient but for one that
 * a negative number lacks. It is at least 2^31, of which the upper half of a signed product misses the number itself. */
typedef struct {
  int32_t reciprocal, shift;
} divisor;

static inline divisor divisor_of(uint32_t sigma) {
  const int32_t bits = tw_x_fl1(sigma - 1) + 1;
  const uint32_t high = (1u << 31) / sigma, rest = (1u << 31) - high * sigma;
  const divisor d = {(int32_t)((high << bits) + (rest << bits) / sigma + 1), bits - 1};
  return d;
}

#define TW_A_CENTRE(n) "sub " n ", " n ", %[mean]\n"
#define TW_A_SHARE(t, n) "mulh " t ", " n ", %[reciprocal]\n"
#define TW_A_QUOTIENT(t, n) TW_A_R(TW_E_ADDN, t, n, "%[bits]")
#define TW_A_NEGATIVE(t, n) "srli " n ", " n ", 31\nadd " t ", " t ", " n "\n"
#define TW_A_FINISH(t, b) TW_A_R(TW_E_ADDN, t, b, "%[shift]")
#define TW_A_EACH(DO) DO("%[t0]", "%[n0]") DO("%[t1]", "%[n1]") DO("%[t2]", "%[n2]") DO("%[t3]", "%[n3]")

static inline void words_of_row(const row_values *v, int32_t shift, const TW_X *x, const int32_t *w, const int32_t *b,
                                int8_t *y, int32_t words) {
  const divisor d = divisor_of((uint32_t)v->sigma);
  int32_t n0, n1, n2, n3, t0, t1, t2, t3;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[words]", 44) TW_A_LW("%[n3]", "%[x]", "4") TW_A_LW("%[t0]", "%[w]", "4")
      TW_A_LW("%[t1]", "%[w]", "4") TW_A_LW("%[t2]", "%[w]", "4") TW_A_LW("%[t3]", "%[w]", "4")
      TW_A_BYTES("sign", "%[n3]", "%[n0]", "%[n1]", "%[n2]", "%[n3]")
      TW_A_FOUR(TW_A_CENTRE, "%[n0]", "%[n1]", "%[n2]", "%[n3]")
      "mul %[n0], %[n0], %[t0]\nmul %[n1], %[n1], %[t1]\nmul %[n2], %[n2], %[t2]\nmul %[n3], %[n3], %[t3]\n"
      TW_A_EACH(TW_A_SHARE) TW_A_EACH(TW_A_QUOTIENT) TW_A_EACH(TW_A_NEGATIVE) TW_A_LW("%[n0]", "%[b]", "4")
      TW_A_LW("%[n1]", "%[b]", "4") TW_A_LW("%[n2]", "%[b]", "4") TW_A_LW("%[n3]", "%[b]", "4") TW_A_EACH(TW_A_FINISH)
      TW_A_PACK4("%[t0]", "%[t1]", "%[t2]", "%[t3]") TW_A_SW("%[t0]", "%[y]", "4") TW_A_END
      : [x] "+r"(x), [w] "+r"(w), [b] "+r"(b), [y] "+r"(y), [n0] "=&r"(n0), [n1] "=&r"(n1), [n2] "=&r"(n2),
        [n3] "=&r"(n3), [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3)
      : [words] "r"(words), [mean] "r"(v->mean), [reciprocal] "r"(d.reciprocal), [bits] "r"(d.shift), [shift] "r"(shift),
        [sign] "i"(TW_I_BYTE(TW_X_SIGNED))
      : "memory");
}
#endif

static inline void some_of_row(const row_values *v, int32_t shift, const TW_X *x, const int32_t *w, const int32_t *b,
                               int8_t *y, int32_t count) {
  int32_t i = 0;
#if TW_XPULP
  if (count >= 4 && v->sigma > 1) {
    words_of_row(v, shift, x, w, b, y, count >> 2);
    i = count & ~3;
  }
#endif
  for (; i < count; i++) y[i] = one_of_row(v, x[i], w[i], b[i], shift);
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, const int32_t *b, int8_t *y) {
  const int32_t length = params->length, by_rows = params->rows >= TW_CORES;
  const tw_share all_rows = {0, params->rows}, all = {0, length};
  const tw_share rows = by_rows ? tw_share_of(params->rows) : all_rows;
  const tw_share part = by_rows ? all : tw_share_in_blocks(length, 4);
  for (int32_t row = rows.first; row < rows.end; row++) {
    const int32_t at = row * length;
    const row_values values = values_of(x + at, length);
    some_of_row(&values, params->shift, x + at + part.first, w + part.first, b + part.first, y + at + part.first,
                part.end - part.first);
  }
}
