/* Weights in blocks, as block_packing.py lays out panels of a single row: what 32 neighbours are multiplied with for all
 * of a row, filled up to whole lines, and then their levels, TW_BLOCK_BITS words for each 32. A header of a format defines
 * TW_BLOCK_BITS, TW_BLOCK_ZERO (the level that stands for 0) and TW_SCALING; of floats, TW_WEIGHT_LOAD reads one. */
#ifndef TW_GPU_BLOCK_H
#define TW_GPU_BLOCK_H

#include "gpu.h"
#include "gpu_unroll.h"
#include "half.h"

enum { TW_BLOCK = 32 };

#ifdef TW_BLOCK_BITS

#define TW_PLAIN 0       /* a scale for each 32 */
#define TW_MOVED 1       /* a scale, and what is added */
#define TW_SUPER 2       /* the same in 6 bits each, times two scales for each 256 */
#define TW_SUPER_APART 3 /* scales of 16 in bytes, times one for each 256 */

enum {
  TW_LINE = 64,
  TW_SHARING_BLOCKS = TW_SCALING >= TW_SUPER ? 8 : 1, /* that share scales */
  TW_SCALE_BYTES = TW_SCALING == TW_PLAIN ? 2 : TW_SCALING == TW_MOVED ? 4 : TW_SCALING == TW_SUPER ? 20 : 18
};

typedef uint16_t __attribute__((may_alias)) tw_u16;
typedef uint32_t __attribute__((may_alias)) tw_u32;

/* What levels of 32 neighbours are multiplied with. */
typedef struct {
  uint32_t common, own; /* bits of what several share, and of what these have alone */
} tw_block_scales;

/* 32 weights. */
typedef struct {
  uint32_t at[TW_BLOCK_BITS];
  tw_block_scales scales;
} tw_weights;

#if TW_BLOCK_BITS % 4 == 0
typedef struct {
  uint32_t at[4];
} __attribute__((aligned(16), may_alias)) tw_words;
#elif TW_BLOCK_BITS % 2 == 0
typedef struct {
  uint32_t at[2];
} __attribute__((aligned(8), may_alias)) tw_words;
#else
typedef struct {
  uint32_t at[1];
} __attribute__((may_alias)) tw_words;
#endif

enum { TW_WORDS = sizeof(tw_words) / 4 };

TW_GPU tw_block_scales tw_scales_at(const uint8_t *row, int32_t block) {
  const uint8_t *const group = row + block / TW_SHARING_BLOCKS * TW_SCALE_BYTES;
  tw_block_scales found = {0, 0};
#if TW_SCALING == TW_PLAIN
  found.common = *(const tw_u16 *)group;
#elif TW_SCALING == TW_MOVED
  found.common = *(const tw_u32 *)group;
#elif TW_SCALING == TW_SUPER
  found.common = *(const tw_u32 *)group;
  found.own = *(const tw_u16 *)(group + 4 + block % 8 * 2);
#else
  found.common = *(const tw_u16 *)group;
  found.own = *(const tw_u16 *)(group + 2 + block % 8 * 2);
#endif
  return found;
}

/* Where levels of a row begin. */
TW_GPU const uint8_t *tw_levels_of(const uint8_t *row, int32_t inner) {
  const int32_t scales = inner / TW_BLOCK / TW_SHARING_BLOCKS * TW_SCALE_BYTES;
  return row + (scales + TW_LINE - 1) / TW_LINE * TW_LINE;
}

/* Those from an element on. */
TW_GPU tw_weights tw_weights_at(const uint8_t *row, int32_t inner, int32_t at) {
  const tw_words *const words = (const tw_words *)(tw_levels_of(row, inner) + at / TW_BLOCK * 4 * TW_BLOCK_BITS);
  tw_weights found;
  TW_UNROLL for (int32_t i = 0; i < TW_BLOCK_BITS / TW_WORDS; i++) {
    const tw_words some = words[i];
    TW_UNROLL for (int32_t j = 0; j < TW_WORDS; j++) found.at[i * TW_WORDS + j] = some.at[j];
  }
  found.scales = tw_scales_at(row, at / TW_BLOCK);
  return found;
}

/* A level as a number, from the lowest bits: the last ones of a float of this size count ones. */
TW_GPU float tw_number(uint32_t level) { return tw_float_of_bits(0x4b000000u | level) - (8388608.0f + TW_BLOCK_ZERO); }

/* Of an element that is known when the kernel is compiled. */
TW_GPU float tw_level(const tw_weights *w, int32_t e) {
#if TW_BLOCK_BITS == 8
  return tw_number(w->at[e / 4] >> e % 4 * 8 & 255u);
#else
  uint32_t level = w->at[e % 16 / 4] >> (e % 4 * 8 + e / 16 * 4) & 15u;
#if TW_BLOCK_BITS == 5
  level |= (w->at[4] >> (e % 4 * 8 + e / 4) & 1u) << 4;
#elif TW_BLOCK_BITS == 6
  level |= (w->at[4 + e / 16] >> (e % 4 * 8 + e % 16 / 4 * 2) & 3u) << 4;
#endif
  return tw_number(level);
#endif
}

/* What levels of the first or the last 16 are multiplied with, and what is added then. */
TW_GPU float tw_scale(tw_block_scales scales, int32_t half) {
  const float common = tw_from_float16((uint16_t)scales.common);
  (void)half;
#if TW_SCALING == TW_SUPER
  return common * (float)(scales.own & 255u);
#elif TW_SCALING == TW_SUPER_APART
  return common * (float)(int8_t)(scales.own >> half * 8);
#else
  return common;
#endif
}

TW_GPU float tw_least(tw_block_scales scales) {
#if TW_SCALING == TW_MOVED
  return tw_from_float16((uint16_t)(scales.common >> 16));
#elif TW_SCALING == TW_SUPER
  return -tw_from_float16((uint16_t)(scales.common >> 16)) * (float)(scales.own >> 8);
#else
  (void)scales;
  return 0.0f;
#endif
}

/* A quarter of the 32 neighbours from an element on, as floats: 4 from the fourth times `quarter` on, and the same of the
 * last 16. */
TW_GPU void tw_quarter_at(const uint8_t *row, int32_t inner, int32_t at, int32_t quarter, float *to) {
  const tw_u32 *const words = (const tw_u32 *)(tw_levels_of(row, inner) + at / TW_BLOCK * 4 * TW_BLOCK_BITS);
  const tw_block_scales scales = tw_scales_at(row, at / TW_BLOCK);
  const float least = tw_least(scales);
  const uint32_t low = words[quarter];
#if TW_BLOCK_BITS == 8
  const uint32_t high = words[4 + quarter];
#elif TW_BLOCK_BITS == 5
  const uint32_t fifth = words[4] >> quarter;
#elif TW_BLOCK_BITS == 6
  const uint32_t first = words[4] >> 2 * quarter, last = words[5] >> 2 * quarter;
#endif
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
#if TW_BLOCK_BITS == 8
    const uint32_t one = low >> i * 8 & 255u, other = high >> i * 8 & 255u;
#elif TW_BLOCK_BITS == 5
    const uint32_t one = (low >> i * 8 & 15u) | (fifth >> i * 8 & 1u) << 4;
    const uint32_t other = (low >> (i * 8 + 4) & 15u) | (fifth >> (i * 8 + 4) & 1u) << 4;
#elif TW_BLOCK_BITS == 6
    const uint32_t one = (low >> i * 8 & 15u) | (first >> i * 8 & 3u) << 4;
    const uint32_t other = (low >> (i * 8 + 4) & 15u) | (last >> i * 8 & 3u) << 4;
#else
    const uint32_t one = low >> i * 8 & 15u, other = low >> (i * 8 + 4) & 15u;
#endif
    to[i] = tw_scale(scales, 0) * tw_number(one) + least;
    to[4 + i] = tw_scale(scales, 1) * tw_number(other) + least;
  }
}

#else

TW_GPU void tw_quarter_at(const TW_WEIGHT *row, int32_t inner, int32_t at, int32_t quarter, float *to) {
  const TW_WEIGHT *const first = row + at + 4 * quarter;
  (void)inner;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    to[i] = TW_WEIGHT_LOAD(first[i]);
    to[4 + i] = TW_WEIGHT_LOAD(first[16 + i]);
  }
}

#endif

#endif
