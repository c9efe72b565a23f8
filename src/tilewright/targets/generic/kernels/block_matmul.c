/* y[i, j] = sum of x[i, k] * w[j, k] + bias[j], with weights w in blocks */
#include "block_matmul.h"

#include <stddef.h>

#include "block_formats.h"
#include "block_matmul_sizes.h"
#include "rounded_blocks.h"

#ifndef TW_NAME
#define TW_NAME tw_block_matmul
#endif

/* What is left of rows that were quantised. */
static void round_rows(const float *x, int64_t count, float *y) {
  for (int64_t first = 0; first < count; first += TW_ROUNDED_BLOCK) {
    const float most = tw_rounded_most(x + first);
    const float inverse = tw_rounded_inverse(most), scale = tw_rounded_scale(most);
    for (int32_t i = 0; i < TW_ROUNDED_BLOCK; i++) y[first + i] = scale * rintf(x[first + i] * inverse);
  }
}

/* Several sums side by side, so that none waits for another. */
static float dot(const float *x, const float *w, int32_t count) {
  float sums[8] = {0.0f}, rest = 0.0f;
  int32_t k = 0;
  for (; k + 8 <= count; k += 8) {
    for (int32_t lane = 0; lane < 8; lane++) sums[lane] += x[k + lane] * w[k + lane];
  }
  for (; k < count; k++) rest += x[k] * w[k];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest;
}

void TW_NAME(const tw_block_matmul_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const int32_t inner = params->inner, columns = params->columns, rows = params->rows;
  const tw_block_format format = (tw_block_format)params->format;
  const int32_t size = tw_block_bytes(format), elements = tw_block_elements(format);
  float *const run = scratch;
  if (params->rounds_rows) {
    round_rows(x, (int64_t)rows * inner, run + TW_BLOCK_RUN);
    x = run + TW_BLOCK_RUN;
  }
  for (int32_t j = 0; j < columns; j++, w += params->row_bytes) {
    for (int32_t i = 0; i < rows; i++) y[(int64_t)i * columns + j] = bias ? bias[j] : 0.0f;
    for (int32_t k = 0; k < inner; k += TW_BLOCK_RUN) {
      const int32_t count = tw_min(TW_BLOCK_RUN, inner - k);
      tw_block_row(format, w + (int64_t)(k / elements) * size, count, run);
      for (int32_t i = 0; i < rows; i++) y[(int64_t)i * columns + j] += dot(x + (int64_t)i * inner + k, run, count);
    }
  }
}
