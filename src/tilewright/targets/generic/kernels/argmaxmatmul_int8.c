/* Of products of a row of bytes with the rows of b, requantised, the best of each block of them and its place. */
#include "argmaxmatmul.h"

#ifndef TW_NAME
#define TW_NAME tw_argmaxmatmul_int8
#define TW_A int8_t
#define TW_B int8_t
#define TW_BEST int16_t
#endif

static int32_t dot(const TW_A *a, const TW_B *b, int32_t count) {
  uint32_t sum = 0;
  for (int32_t k = 0; k < count; k++) sum += (uint32_t)((int32_t)a[k] * b[k]);
  return (int32_t)sum;
}

void TW_NAME(const tw_argmaxmatmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_BEST *best, int32_t *place) {
  const tw_argmaxmatmul_params p = *params;
  for (int32_t row = 0; row < p.rows; row++, a += p.length) {
    for (int32_t first = 0; first < p.words; first += p.block, best++, place++) {
      const int32_t end = tw_block_end(&p, first);
      int32_t most = INT32_MIN, at = first;
      for (int32_t word = first; word < end; word++) {
        int32_t value = (int32_t)((uint32_t)dot(a, b + word * p.length, p.length) + (uint32_t)(c ? c[word] : 0));
        if (p.requantised) value = tw_requantise(&p.requant, value, mul[word], add ? add[word] : 0);
        if (value <= most) continue;
        most = value;
        at = word;
      }
      *best = (TW_BEST)most;
      *place = at - first;
    }
  }
}
