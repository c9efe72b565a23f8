/* Weights in blocks, as files have them: bytes of a block -> the floats that they stand for. */
#ifndef TW_BLOCK_FORMATS_H
#define TW_BLOCK_FORMATS_H

#include <stdint.h>

#include "half.h"

typedef enum {
  TW_BLOCK_F32,
  TW_BLOCK_F16,
  TW_BLOCK_BF16,
  TW_BLOCK_Q4_0,
  TW_BLOCK_Q4_1,
  TW_BLOCK_Q5_0,
  TW_BLOCK_Q5_1,
  TW_BLOCK_Q8_0,
  TW_BLOCK_Q4_K,
  TW_BLOCK_Q5_K,
  TW_BLOCK_Q6_K
} tw_block_format;

enum { TW_SMALL_BLOCK = 32, TW_LARGE_BLOCK = 256 };

static inline uint16_t tw_block_bits(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline float tw_block_half(const uint8_t *at) { return tw_from_float16(tw_block_bits(at)); }

/* Elements of a block, and its bytes. */
static inline int32_t tw_block_elements(tw_block_format format) {
  return format <= TW_BLOCK_BF16 ? 1 : format <= TW_BLOCK_Q8_0 ? TW_SMALL_BLOCK : TW_LARGE_BLOCK;
}

static inline int32_t tw_block_bytes(tw_block_format format) {
  static const int16_t bytes[] = {4, 2, 2, 18, 20, 22, 24, 34, 144, 176, 210};
  return bytes[format];
}

/* The two halves of 16 bytes, with a fifth bit of each where there are some: y = scale * (level - zero) + least. */
static inline void tw_block_levels(const uint8_t *nibbles, const uint8_t *fifth, float scale, float zero, float least,
                                   float *y) {
  uint32_t upper = 0;
  if (fifth) upper = fifth[0] | (uint32_t)fifth[1] << 8 | (uint32_t)fifth[2] << 16 | (uint32_t)fifth[3] << 24;
  for (int32_t i = 0; i < 16; i++) {
    const int32_t low = (nibbles[i] & 15) | (int32_t)(upper >> i & 1) << 4;
    const int32_t high = nibbles[i] >> 4 | (int32_t)(upper >> (i + 16) & 1) << 4;
    y[i] = scale * ((float)low - zero) + least;
    y[i + 16] = scale * ((float)high - zero) + least;
  }
}

/* Of 8 parts of 32 elements: the scale and the minimum of one, of 6 bits each. */
static inline void tw_block_scale(const uint8_t *packed, int32_t part, int32_t *scale, int32_t *minimum) {
  if (part < 4) {
    *scale = packed[part] & 63;
    *minimum = packed[part + 4] & 63;
  } else {
    *scale = (packed[part + 4] & 15) | packed[part - 4] >> 6 << 4;
    *minimum = packed[part + 4] >> 4 | packed[part] >> 6 << 4;
  }
}

static inline void tw_block_parts(const uint8_t *block, const uint8_t *fifth, const uint8_t *nibbles, float *y) {
  const float d = tw_block_half(block), least = tw_block_half(block + 2);
  for (int32_t part = 0; part < 8; part++, y += 32) {
    int32_t scale, minimum;
    tw_block_scale(block + 4, part, &scale, &minimum);
    const float factor = d * (float)scale, offset = least * (float)minimum;
    const uint8_t *const bytes = nibbles + part / 2 * 32;
    for (int32_t i = 0; i < 32; i++) {
      int32_t level = part & 1 ? bytes[i] >> 4 : bytes[i] & 15;
      if (fifth) level |= (fifth[i] >> part & 1) << 4;
      y[i] = factor * (float)level - offset;
    }
  }
}

static inline void tw_block_q6_k(const uint8_t *block, float *y) {
  const float d = tw_block_half(block + 208);
  for (int32_t i = 0; i < TW_LARGE_BLOCK; i++) {
    const int32_t half = i >> 7, quarter = i >> 5 & 3, place = i & 31;
    const int32_t byte = block[64 * half + 32 * (quarter & 1) + place];
    const int32_t low = quarter >= 2 ? byte >> 4 : byte & 15;
    const int32_t level = low | (block[128 + 32 * half + place] >> 2 * quarter & 3) << 4;
    y[i] = d * (float)(int8_t)block[192 + i / 16] * (float)(level - 32);
  }
}

/* All elements of a block; of those with a single one, only floats. */
static inline void tw_block_values(tw_block_format format, const uint8_t *block, float *y) {
  switch (format) {
    case TW_BLOCK_F16:
    case TW_BLOCK_BF16: break;
    case TW_BLOCK_F32: memcpy(y, block, sizeof *y); break;
    case TW_BLOCK_Q4_0: tw_block_levels(block + 2, 0, tw_block_half(block), 8.0f, 0.0f, y); break;
    case TW_BLOCK_Q4_1: tw_block_levels(block + 4, 0, tw_block_half(block), 0.0f, tw_block_half(block + 2), y); break;
    case TW_BLOCK_Q5_0: tw_block_levels(block + 6, block + 2, tw_block_half(block), 16.0f, 0.0f, y); break;
    case TW_BLOCK_Q5_1:
      tw_block_levels(block + 8, block + 4, tw_block_half(block), 0.0f, tw_block_half(block + 2), y);
      break;
    case TW_BLOCK_Q8_0:
      for (int32_t i = 0; i < TW_SMALL_BLOCK; i++) y[i] = tw_block_half(block) * (float)(int8_t)block[2 + i];
      break;
    case TW_BLOCK_Q4_K: tw_block_parts(block, 0, block + 16, y); break;
    case TW_BLOCK_Q5_K: tw_block_parts(block, block + 16, block + 48, y); break;
    case TW_BLOCK_Q6_K: tw_block_q6_k(block, y); break;
  }
}

/* `count` neighbours of a row, whole blocks of them. */
static inline void tw_block_row(tw_block_format format, const uint8_t *bytes, int32_t count, float *y) {
  const int32_t elements = tw_block_elements(format), size = tw_block_bytes(format);
  if (format == TW_BLOCK_F16) {
    for (int32_t i = 0; i < count; i++) y[i] = tw_weight_of_float16(tw_block_bits(bytes + 2 * i));
  } else if (format == TW_BLOCK_BF16) {
    for (int32_t i = 0; i < count; i++) y[i] = tw_weight_of_bfloat16(tw_block_bits(bytes + 2 * i));
  } else {
    for (int32_t i = 0; i < count; i += elements, bytes += size) tw_block_values(format, bytes, y + i);
  }
}

#endif
