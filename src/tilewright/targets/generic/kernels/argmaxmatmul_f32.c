/* Of products of a row of floats with the rows of b, the best of each block of them and its place; what is not a number
 * counts as that. */
#include "argmaxmatmul.h"

#ifndef TW_NAME
#define TW_NAME tw_argmaxmatmul_f32
#endif

/* Sums that do not wait for each other. */
#define LANES 16

static float dot(const float *a, const float *b, int32_t count) {
  float lane[LANES] = {0}, sum = 0.0f;
  int32_t k = 0;
  for (; k + LANES <= count; k += LANES) {
    for (int32_t i = 0; i < LANES; i++) lane[i] += a[k + i] * b[k + i];
  }
  for (; k < count; k++) sum += a[k] * b[k];
  for (int32_t i = 0; i < LANES; i++) sum += lane[i];
  return sum;
}

static inline int better(float x, float than) { return x > than || (x != x && than == than); }

void TW_NAME(const tw_argmaxmatmul_params *params, const float *a, const float *b, const float *c, float *best,
             int32_t *place) {
  const tw_argmaxmatmul_params p = *params;
  for (int32_t row = 0; row < p.rows; row++, a += p.length) {
    for (int32_t first = 0; first < p.words; first += p.block, best++, place++) {
      const int32_t end = tw_block_end(&p, first);
      *place = 0;
      for (int32_t word = first; word < end; word++) {
        const float value = dot(a, b + word * p.length, p.length) + (c ? c[word] : 0.0f);
        if (word > first && !better(value, *best)) continue;
        *best = value;
        *place = word - first;
      }
    }
  }
}
