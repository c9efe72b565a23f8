/* Weighted sums of two tensors of bytes, element by element. y may lie in the place of an operand. */
#include "qlinearadd_bytes.h"

#if defined(__aarch64__)
#include "sums_neon.h"
#endif
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_IS_UNSIGNED(type) ((type)-1 > (type)0)

void TW_NAME(const tw_qlinearadd_bytes_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_byte_sum sum = params->sum;
  const int32_t count = params->count;
  int32_t i = 0;
#if defined(__aarch64__)
  const tw_weights weights = tw_weights_of(&sum);
  for (; i + 16 <= count; i += 16) {
    tw_weighted_sixteen(&weights, TW_IS_UNSIGNED(TW_A), a + i, TW_IS_UNSIGNED(TW_B), b + i, TW_IS_UNSIGNED(TW_Y), y + i);
  }
#endif
  TW_INDEPENDENT
  for (; i < count; i++) y[i] = (TW_Y)tw_byte_sum_of(&sum, a[i], b[i]);
}
