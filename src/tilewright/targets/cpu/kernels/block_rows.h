/* Rows of floats as bytes with a scale for each 32 of them, some rows side by side, as panels of weights meet them. */
#ifndef TW_BLOCK_ROWS_H
#define TW_BLOCK_ROWS_H

#include "block_lanes.h"
#include "block_product_sizes.h"
#include "lanes.h"
#include "rounded_blocks.h"

/* Of a block of 32 elements of `rows` rows: [8][rows][4] bytes, then a number of each kind for each row. */
enum { TW_SCALE_OF_ROW, TW_SUM_OF_ROW, TW_FIRST_OF_ROW, TW_SECOND_OF_ROW, TW_KINDS_OF_ROW };

TW_INLINE tw_vector_bits tw_larger_bits(tw_vector_bits a, tw_vector_bits b) {
  const tw_vector_bits mask = a > b;
  return (mask & a) | (~mask & b);
}

/* The largest of floats without signs, by their bits: those of a NaN are above all others. */
TW_INLINE float tw_most_size(tw_vector_bits sizes) {
  tw_fourth_bits part[TW_FOURS];
  memcpy(part, &sizes, sizeof sizes);
  TW_UNROLL for (int half = TW_FOURS / 2; half > 0; half /= 2) {
    TW_UNROLL for (int i = 0; i < half; i++) {
      const tw_fourth_bits mask = part[i] > part[i + half];
      part[i] = (mask & part[i]) | (~mask & part[i + half]);
    }
  }
  const int32_t first = part[0][0] > part[0][2] ? part[0][0] : part[0][2];
  const int32_t second = part[0][1] > part[0][3] ? part[0][1] : part[0][3];
  const int32_t bits = first > second ? first : second;
  float most;
  memcpy(&most, &bits, sizeof most);
  return most;
}

/* To the nearest whole numbers, ties to even. */
TW_INLINE tw_vector_bits tw_nearest(tw_vector x) {
#if defined(__AVX512F__) && TW_VECTOR_BYTES == 64
  return (tw_vector_bits)_mm512_cvtps_epi32((__m512)x);
#elif defined(__AVX2__) && TW_VECTOR_BYTES == 32
  return (tw_vector_bits)_mm256_cvtps_epi32((__m256)x);
#elif defined(__aarch64__) && TW_VECTOR_BYTES == 16
  return (tw_vector_bits)vcvtnq_s32_f32((float32x4_t)x);
#else
  tw_vector_bits y;
  for (int lane = 0; lane < TW_LANES; lane++) y[lane] = (int32_t)rintf(x[lane]);
  return y;
#endif
}

TW_INLINE int32_t tw_lane_total(tw_vector_bits v) {
  tw_fourth_bits part[TW_FOURS];
  memcpy(part, &v, sizeof v);
  TW_UNROLL for (int half = TW_FOURS / 2; half > 0; half /= 2) {
    TW_UNROLL for (int i = 0; i < half; i++) part[i] += part[i + half];
  }
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}

enum { TW_VECTORS_OF_BLOCK = TW_ROUNDED_BLOCK / TW_LANES };

/* One block of one row, the `row`th of `rows`: its largest magnitude, its bytes, and the sums of both halves of them, or
 * one of all, and 0. */
#ifdef TW_DOT_WIDENING
#include "block_rows_widening.h"
#else
TW_INLINE float tw_bytes_of_block(const float *x, int row, int rows, int apart, uint8_t *record, int32_t *sum) {
  typedef int8_t narrow __attribute__((vector_size(TW_LANES)));
  tw_vector v[TW_VECTORS_OF_BLOCK];
  TW_UNROLL for (int i = 0; i < TW_VECTORS_OF_BLOCK; i++) v[i] = tw_load(x + i * TW_LANES);
  tw_vector_bits sizes = (tw_vector_bits)v[0] & 0x7fffffff;
  TW_UNROLL for (int i = 1; i < TW_VECTORS_OF_BLOCK; i++) {
    sizes = tw_larger_bits(sizes, (tw_vector_bits)v[i] & 0x7fffffff);
  }
  const float most = tw_most_size(sizes);
  const tw_vector inverse = tw_all(tw_rounded_inverse(most));
  tw_vector_bits total[2] = {{0}, {0}};
  int8_t bytes[TW_ROUNDED_BLOCK];
  TW_UNROLL for (int i = 0; i < TW_VECTORS_OF_BLOCK; i++) {
    const tw_vector_bits whole = tw_nearest(v[i] * inverse);
    const narrow few = __builtin_convertvector(whole, narrow);
    memcpy(bytes + i * TW_LANES, &few, sizeof few);
    total[2 * i / TW_VECTORS_OF_BLOCK] += whole;
  }
  TW_UNROLL for (int g = 0; g < 8; g++) memcpy(record + 4 * (g * rows + row), bytes + 4 * g, 4);
  sum[0] = tw_lane_total(apart ? total[0] : total[0] + total[1]);
  sum[1] = apart ? tw_lane_total(total[1]) : 0;
  return most;
}
#endif

/* `zero` is what levels of weights have too much, and `apart` whether both halves of a block are scaled apart. */
TW_INLINE void tw_round_block(const float *x, int row, int rows, int32_t zero, int apart, uint8_t *record) {
  int32_t sum[2];
  const float most = tw_bytes_of_block(x, row, rows, apart, record, sum);
  const float scale = tw_rounded_scale(most), weighted = scale * (float)(sum[0] + sum[1]);
  const int32_t less[2] = {-zero * sum[0], -zero * sum[1]};
  uint8_t *const numbers = record + TW_ROUNDED_BLOCK * rows + 4 * row;
  memcpy(numbers + 4 * TW_SCALE_OF_ROW * rows, &scale, 4);
  memcpy(numbers + 4 * TW_SUM_OF_ROW * rows, &weighted, 4);
  memcpy(numbers + 4 * TW_FIRST_OF_ROW * rows, &less[0], 4);
  memcpy(numbers + 4 * TW_SECOND_OF_ROW * rows, &less[1], 4);
}

static void tw_round_rows(const float *x, int32_t inner, int rows, int32_t zero, int apart, uint8_t *records) {
  for (int row = 0; row < rows; row++) {
    for (int32_t k = 0; k < inner; k += TW_ROUNDED_BLOCK) {
      uint8_t *const record = records + (int64_t)(k / TW_ROUNDED_BLOCK) * TW_ROW_BLOCK_BYTES * rows;
      tw_round_block(x + (int64_t)row * inner + k, row, rows, zero, apart, record);
    }
  }
}

TW_INLINE float tw_of_row(const uint8_t *record, int rows, int kind, int row) {
  float number;
  memcpy(&number, record + (TW_ROUNDED_BLOCK + 4 * kind) * rows + 4 * row, 4);
  return number;
}

TW_INLINE int32_t tw_less_of_row(const uint8_t *record, int rows, int kind, int row) {
  int32_t number;
  memcpy(&number, record + (TW_ROUNDED_BLOCK + 4 * kind) * rows + 4 * row, 4);
  return number;
}

#endif
