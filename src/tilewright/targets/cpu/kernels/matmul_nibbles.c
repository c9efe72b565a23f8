/* y[i, j] = sum of a[i, k] * (b[j, k] - zero) * scale, with weights b of 4 bits in blocks of a multiple of 32.
 *
 * A weight without its zero point is a small whole number: the two upper bytes of the float that it is, found in a table
 * for each zero point, are all of it. */
#include <arm_neon.h>
#include <string.h>

#include "matmul_nbits.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_nibbles
#endif

/* The bytes of 16 floats, the uppermost and the next. */
typedef struct {
  uint8_t upper[16], next[16];
} table;

static void fill(table *tables) {
  for (int32_t zero = 0; zero < 16; zero++) {
    for (int32_t n = 0; n < 16; n++) {
      const float value = (float)(n - zero);
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      tables[zero].upper[n] = (uint8_t)(bits >> 24);
      tables[zero].next[n] = (uint8_t)(bits >> 16);
    }
  }
}

/* Eight floats from their upper halves. */
static inline void add_eight(const float *a, uint16x8_t halves, float32x4_t *sums) {
  const uint16x8_t nothing = vdupq_n_u16(0);
  sums[0] = vfmaq_f32(sums[0], vld1q_f32(a), vreinterpretq_f32_u16(vzip1q_u16(nothing, halves)));
  sums[1] = vfmaq_f32(sums[1], vld1q_f32(a + 4), vreinterpretq_f32_u16(vzip2q_u16(nothing, halves)));
}

static inline void add_sixteen(const float *a, uint8x16_t nibbles, uint8x16_t upper, uint8x16_t next,
                               float32x4_t *sums) {
  const uint8x16_t high = vqtbl1q_u8(upper, nibbles), low = vqtbl1q_u8(next, nibbles);
  add_eight(a, vreinterpretq_u16_u8(vzip1q_u8(low, high)), sums);
  add_eight(a + 8, vreinterpretq_u16_u8(vzip2q_u8(low, high)), sums + 2);
}

/* The products of a block, times its scale. */
static inline float32x4_t block_sums(const float *a, const uint8_t *b, int32_t count, const table *t, float scale) {
  const uint8x16_t upper = vld1q_u8(t->upper), next = vld1q_u8(t->next), mask = vdupq_n_u8(15);
  float32x4_t sums[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
  for (int32_t k = 0; k < count; k += 32) {
    const uint8x16_t pairs = vld1q_u8(b + k / 2), even = vandq_u8(pairs, mask), odd = vshrq_n_u8(pairs, 4);
    add_sixteen(a + k, vzip1q_u8(even, odd), upper, next, sums);
    add_sixteen(a + k + 16, vzip2q_u8(even, odd), upper, next, sums);
  }
  return vmulq_n_f32(vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])), scale);
}

void TW_NAME(const tw_matmul_nbits_params *params, const float *a, const uint8_t *b, const float *scales,
             const uint8_t *zeros, float *y) {
  const int32_t inner = params->inner, columns = params->columns, blocks = params->blocks, size = params->block;
  const int64_t bytes = (int64_t)blocks * params->block_bytes;
  table tables[16];
  fill(tables);
  for (int32_t j = 0; j < columns; j++, b += bytes, scales += blocks) {
    for (int32_t i = 0; i < params->rows; i++) {
      const float *const row = a + (int64_t)i * inner;
      float32x4_t total = vdupq_n_f32(0);
      for (int32_t n = 0; n < blocks; n++) {
        const table *const t = tables + (zeros ? zeros[(int64_t)j * blocks + n] & 15 : 8);
        total = vaddq_f32(total, block_sums(row + n * size, b + n * params->block_bytes, size, t, scales[n]));
      }
      y[(int64_t)i * columns + j] = vaddvq_f32(total);
    }
  }
}
