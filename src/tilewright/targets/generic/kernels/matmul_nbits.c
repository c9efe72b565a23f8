/* y[i, j] = sum of a[i, k] * (b[j, k] - zero) * scale, with weights b of 2, 4 or 8 bits in blocks */
#include "matmul_nbits.h"

#include <stddef.h>

#ifndef TW_NAME
#define TW_NAME tw_matmul_nbits
#endif

/* Sum of a times (weight - zero): two weights a byte. */
static float dot_4_bits(const float *a, const uint8_t *b, int32_t count, int32_t zero) {
  float total = 0.0f;
  for (int32_t k = 0; k + 1 < count; k += 2) {
    const int32_t byte = b[k >> 1];
    total += a[k] * (float)((byte & 15) - zero) + a[k + 1] * (float)((byte >> 4) - zero);
  }
  if (count & 1) total += a[count - 1] * (float)((b[count >> 1] & 15) - zero);
  return total;
}

static float dot_bits(const float *a, const uint8_t *b, int32_t count, int32_t zero, int32_t bits) {
  const int32_t mask = (1 << bits) - 1;
  float total = 0.0f;
  for (int32_t k = 0; k < count; k++) {
    const int32_t at = k * bits;
    total += a[k] * (float)(((b[at >> 3] >> (at & 7)) & mask) - zero);
  }
  return total;
}

void TW_NAME(const tw_matmul_nbits_params *params, const float *a, const uint8_t *b, const float *scales,
             const uint8_t *zeros, float *y) {
  const int32_t inner = params->inner, columns = params->columns, blocks = params->blocks, bits = params->bits;
  for (int32_t j = 0; j < columns; j++) {
    for (int32_t i = 0; i < params->rows; i++) {
      const float *row = a + i * inner;
      float total = 0.0f;
      for (int32_t block = 0; block < blocks; block++) {
        const int32_t start = block * params->block, count = tw_min(params->block, inner - start);
        const int32_t zero = zeros ? zeros[block] : 1 << (bits - 1);
        const uint8_t *weights = b + block * params->block_bytes;
        const float sum = bits == 4 ? dot_4_bits(row + start, weights, count, zero)
                                    : dot_bits(row + start, weights, count, zero, bits);
        total += sum * scales[block];
      }
      y[i * columns + j] = total;
    }
    b += blocks * params->block_bytes;
    scales += blocks;
    if (zeros) zeros += blocks;
  }
}
