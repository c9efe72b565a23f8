/* y[i, j] = sum of x[i, k] * w[j, k] + bias[j], with weights w in blocks of 32 and x rounded in blocks of 32: products of
 * whole numbers, one float a block.
 *
 * Weights of 4 bits: a word with two levels l, m in its halves times one with two x, (l + m * 2^16) * (b + a * 2^16), has
 * l * a + m * b in its upper half and l * b in the lower one. Sums of eight such products: |l| <= 15 and |x| <= 127, so that
 * the lower half is below 8 * 15 * 127 = 15240 in size and the upper one below 30480, both below 2^15: half a unit of the
 * upper one is added and the rest shifted out, and the sum of 16 products is exact. */
#include "block_matmul.h"

#include <math.h>
#include <stddef.h>

#include "always.h"
#include "block_formats.h"
#include "block_matmul_bytes_sizes.h"
#include "rounded_blocks.h"

#ifndef TW_NAME
#define TW_NAME tw_block_matmul_bytes
#endif

enum { TW_LANES = 0x000f000f, TW_HALF_UNIT = 0x8000 };

typedef uint16_t __attribute__((may_alias)) half_word;

static void level_block(const float *x, int8_t *level, tw_byte_block *made) {
  const float most = tw_rounded_most(x), inverse = tw_rounded_inverse(most);
  int32_t sum = 0;
  made->scale = tw_rounded_scale(most);
  for (int32_t i = 0; i < TW_BYTES_BLOCK; i++) {
    level[i] = inverse > 0.0f ? (int8_t)rintf(x[i] * inverse) : 0; /* else zeros, or not all are numbers: the scale is none */
    sum += level[i];
  }
  made->eight_sums = 8 * sum;
}

TW_ALWAYS int32_t pair_of(const int8_t *x) { return (int32_t)((uint32_t)x[2] + ((uint32_t)x[0] << 16)); }

/* Of four bytes of weights: their lower halves of places 0 and 2, upper ones of the same, lower and upper ones of 1 and 3. */
static void pair_block(const int8_t *level, tw_byte_block *made) {
  for (int32_t n = 0; n < 4; n++) {
    const int8_t *const low = level + 4 * n, *const high = low + 16;
    int32_t *const pair = made->x.pair + 4 * n;
    pair[0] = pair_of(low), pair[1] = pair_of(high), pair[2] = pair_of(low + 1), pair[3] = pair_of(high + 1);
  }
}

static void round_rows(const float *x, int32_t blocks, int has_pairs, tw_byte_block *made) {
  for (int32_t block = 0; block < blocks; block++, x += TW_BYTES_BLOCK, made++) {
    int8_t level[TW_BYTES_BLOCK];
    level_block(x, has_pairs ? level : made->x.level, made);
    if (has_pairs) pair_block(level, made);
  }
}

TW_ALWAYS int32_t upper_half(uint32_t sum) { return (int32_t)(sum + TW_HALF_UNIT) >> 16; }

/* 16 bytes of levels of 0 to 15, of which 8 are to be subtracted. */
TW_ALWAYS int32_t dot_nibbles(const uint8_t *w, const tw_byte_block *x) {
  const half_word *bytes = (const half_word *)(const void *)w;
  uint32_t low = 0, high = 0;
  for (int32_t n = 0; n < 4; n++) {
    const uint32_t word = bytes[2 * n] | (uint32_t)bytes[2 * n + 1] << 16;
    const int32_t *const pair = x->x.pair + 4 * n;
    low += (word & TW_LANES) * (uint32_t)pair[0];
    high += (word >> 4 & TW_LANES) * (uint32_t)pair[1];
    low += (word >> 8 & TW_LANES) * (uint32_t)pair[2];
    high += (word >> 12 & TW_LANES) * (uint32_t)pair[3];
  }
  return upper_half(low) + upper_half(high) - x->eight_sums;
}

TW_ALWAYS int32_t dot_bytes(const uint8_t *w, const tw_byte_block *x) {
  const int8_t *const weight = (const int8_t *)w;
  int32_t sum = 0;
  for (int32_t i = 0; i < TW_BYTES_BLOCK; i++) sum += weight[i] * x->x.level[i];
  return sum;
}

TW_ALWAYS void products(const tw_block_matmul_params *p, const tw_byte_block *x, const uint8_t *w, const float *bias,
                        float *y, int has_pairs) {
  const int32_t blocks = p->inner / TW_BYTES_BLOCK, size = has_pairs ? 18 : 34;
  for (int32_t j = 0; j < p->columns; j++, w += p->row_bytes) {
    const tw_byte_block *at = x;
    for (int32_t i = 0; i < p->rows; i++) {
      const uint8_t *block = w;
      float total = bias ? bias[j] : 0.0f;
      for (int32_t k = 0; k < blocks; k++, at++, block += size) {
        const int32_t sum = has_pairs ? dot_nibbles(block + 2, at) : dot_bytes(block + 2, at);
        total += at->scale * tw_block_half(block) * (float)sum;
      }
      y[(int64_t)i * p->columns + j] = total;
    }
  }
}

void TW_NAME(const tw_block_matmul_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const int has_pairs = params->format == TW_BLOCK_Q4_0;
  tw_byte_block *const made = scratch;
  round_rows(x, params->rows * (params->inner / TW_BYTES_BLOCK), has_pairs, made);
  if (has_pairs) {
    products(params, made, w, bias, y, 1);
  } else {
    products(params, made, w, bias, y, 0);
  }
}
