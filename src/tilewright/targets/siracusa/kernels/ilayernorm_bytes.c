/* y = ((x - mean) * w / sigma + b) >> shift of bytes, wrapped to 8 bits; sigma = root(mean of squares + 1); all cores
 * together. Divisions by a row's sigma are products with its reciprocal, put right where they are one too small. */
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_ilayernorm_bytes_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "dot.h"
#include "norm_rows.h"

typedef struct {
  int32_t mean;
  uint32_t sigma;
  uint32_t reciprocal;
} row_values;

static row_values values_of(const TW_X *x, int32_t length) {
  const int is_signed = (TW_X)-1 < 0;
  int32_t sum = 0, squares = 0, left = length;
  for (; left >= 4; left -= 4, x += 4) {
    const uint32_t word = tw_x_load(x);
    sum = tw_dot(sum, word, 0x01010101u, is_signed, 1);
    squares = tw_dot(squares, word, word, is_signed, is_signed);
  }
  for (; left > 0; left--, x++) sum += *x, squares += *x * *x;
  row_values values;
  values.mean = sum / length;
  /* The sum of (x - mean)^2. */
  squares += values.mean * (values.mean * length - 2 * sum);
  values.sigma = tw_root32((uint32_t)squares / (uint32_t)length + 1);
  values.reciprocal = values.sigma > 1 ? UINT32_MAX / values.sigma : UINT32_MAX;
  return values;
}

/* n / sigma, towards zero. */
static inline int32_t divide(int32_t n, const row_values *v) {
  const uint32_t magnitude = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
  uint32_t quotient = (uint32_t)((uint64_t)magnitude * v->reciprocal >> 32);
  quotient += magnitude - quotient * v->sigma >= v->sigma;
  return n < 0 ? (int32_t)(0u - quotient) : (int32_t)quotient;
}

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, const int32_t *b, int8_t *y) {
  const int32_t length = params->length, shift = params->shift, by_rows = params->rows >= TW_CORES;
  const tw_share all_rows = {0, params->rows}, all = {0, length};
  const tw_share rows = by_rows ? tw_share_of(params->rows) : all_rows;
  const tw_share part = by_rows ? all : tw_share_of(length);
  for (int32_t row = rows.first; row < rows.end; row++) {
    const row_values values = values_of(x + row * length, length);
    for (int32_t i = part.first; i < part.end; i++) {
      const int32_t scaled = divide(tw_mul32(x[row * length + i] - values.mean, w[i]), &values);
      y[row * length + i] = (int8_t)(tw_add32(scaled, b[i]) >> shift);
    }
  }
}
