/* Vectors over the rows of a panel of weights: sums of products of bytes, by the instructions that a processor has. */
#ifndef TW_BLOCK_LANES_H
#define TW_BLOCK_LANES_H

#include "vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef TW_DOT_WIDENING
#define TW_PANEL 32 /* rows of weights side by side */
#elif TW_VECTOR_BYTES == 64
#define TW_PANEL 16
#else
#define TW_PANEL 8
#endif
#ifdef TW_DOT_VNNI
#define TW_LEVELS_SIGNED 0 /* of 8 bits */
#else
#define TW_LEVELS_SIGNED 1
#endif
#define TW_QUADS 4 /* of a half block: what is multiplied at a time */

typedef int32_t tw_ints __attribute__((vector_size(4 * TW_PANEL)));
typedef float tw_floats __attribute__((vector_size(4 * TW_PANEL)));
typedef uint8_t tw_levels __attribute__((vector_size(4 * TW_PANEL)));
typedef uint16_t tw_halves __attribute__((vector_size(2 * TW_PANEL)));
typedef uint8_t tw_bytes __attribute__((vector_size(TW_PANEL)));
typedef int8_t tw_signed_bytes __attribute__((vector_size(TW_PANEL)));

TW_INLINE tw_levels tw_load_levels(const uint8_t *at) {
  tw_levels v;
  memcpy(&v, at, sizeof v);
  return v;
}

TW_INLINE tw_ints tw_all_ints(int32_t x) { return x - (tw_ints){0}; }
TW_INLINE tw_floats tw_all_floats(float x) { return x - (tw_floats){0}; }

TW_INLINE tw_floats tw_load_floats(const float *at) {
  tw_floats v;
  memcpy(&v, at, sizeof v);
  return v;
}

TW_INLINE tw_floats tw_as_floats(tw_ints x) { return __builtin_convertvector(x, tw_floats); }

/* Floats of 16 bits. */
TW_INLINE tw_floats tw_load_halves(const uint8_t *at) {
#if defined(__AVX512F__) && TW_PANEL == 16
  return (tw_floats)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)at));
#elif defined(__F16C__) && TW_PANEL == 8
  return (tw_floats)_mm256_cvtph_ps(_mm_loadu_si128((const void *)at));
#else
  tw_halves halves;
  tw_floats floats;
  memcpy(&halves, at, sizeof halves);
#if defined(__aarch64__)
  typedef __fp16 tw_fp16 __attribute__((vector_size(2 * TW_PANEL)));
  floats = __builtin_convertvector((tw_fp16)halves, tw_floats);
#else
  typedef uint32_t wide __attribute__((vector_size(4 * TW_PANEL)));
  const wide bits = __builtin_convertvector(halves, wide);
  floats = (tw_floats)((bits & 0x8000) << 16 | (bits & 0x7fff) << 13) * 0x1p112f;
#endif
  return floats;
#endif
}

/* The upper halves of floats. */
TW_INLINE tw_floats tw_load_upper(const uint8_t *at) {
  typedef uint32_t wide __attribute__((vector_size(4 * TW_PANEL)));
  tw_halves halves;
  memcpy(&halves, at, sizeof halves);
  return (tw_floats)(__builtin_convertvector(halves, wide) << 16);
}

TW_INLINE tw_floats tw_load_unsigned(const uint8_t *at) {
  tw_bytes bytes;
  memcpy(&bytes, at, sizeof bytes);
  return tw_as_floats(__builtin_convertvector(bytes, tw_ints));
}

TW_INLINE tw_floats tw_load_signed(const uint8_t *at) {
  tw_signed_bytes bytes;
  memcpy(&bytes, at, sizeof bytes);
  return tw_as_floats(__builtin_convertvector(bytes, tw_ints));
}

TW_INLINE int32_t tw_four(const int8_t *a) {
  int32_t four;
  memcpy(&four, a, sizeof four);
  return four;
}

/* total += levels[0..3] times four bytes each at a, a + step, ...; `bits` of a level are not signed, but for 8 bits
 * where TW_LEVELS_SIGNED. */
#if defined(TW_DOT_VNNI) && defined(__AVX512VNNI__) && TW_PANEL == 16
TW_INLINE tw_ints tw_dot_half(int bits, tw_ints total, const tw_levels *w, const int8_t *a, int step) {
  (void)bits;
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    total = (tw_ints)_mm512_dpbusd_epi32((__m512i)total, (__m512i)w[i], _mm512_set1_epi32(tw_four(a + i * step)));
  }
  return total;
}
#elif defined(TW_DOT_VNNI) && defined(__AVXVNNI__) && TW_PANEL == 8
TW_INLINE tw_ints tw_dot_half(int bits, tw_ints total, const tw_levels *w, const int8_t *a, int step) {
  (void)bits;
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    total = (tw_ints)_mm256_dpbusd_avx_epi32((__m256i)total, (__m256i)w[i], _mm256_set1_epi32(tw_four(a + i * step)));
  }
  return total;
}
#elif defined(TW_DOT_MADDUBS) && defined(__AVX512BW__) && TW_PANEL == 16
#define TW_PAIRS __m512i
#define tw_pairs_of(w, a) _mm512_maddubs_epi16(w, a)
#define tw_add_pairs(x, y) _mm512_add_epi16(x, y)
#define tw_fours_of(pairs) _mm512_madd_epi16(pairs, _mm512_set1_epi16(1))
#define tw_all_fours(x) _mm512_set1_epi32(x)
#define tw_size_of(w) _mm512_abs_epi8(w)
#define tw_turned(a, w) _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a)
#elif defined(TW_DOT_MADDUBS) && defined(__AVX2__) && TW_PANEL == 8
#define TW_PAIRS __m256i
#define tw_pairs_of(w, a) _mm256_maddubs_epi16(w, a)
#define tw_add_pairs(x, y) _mm256_add_epi16(x, y)
#define tw_fours_of(pairs) _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
#define tw_all_fours(x) _mm256_set1_epi32(x)
#define tw_size_of(w) _mm256_abs_epi8(w)
#define tw_turned(a, w) _mm256_sign_epi8(a, w)
#elif defined(__ARM_FEATURE_DOTPROD) && TW_PANEL == 8
TW_INLINE tw_ints tw_dot_half(int bits, tw_ints total, const tw_levels *w, const int8_t *a, int step) {
  (void)bits;
  int32x4_t part[2];
  memcpy(part, &total, sizeof part);
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(tw_four(a + i * step)));
    int8x16_t side[2];
    memcpy(side, w + i, sizeof side);
    part[0] = vdotq_s32(part[0], side[0], four);
    part[1] = vdotq_s32(part[1], side[1], four);
  }
  memcpy(&total, part, sizeof part);
  return total;
}
#else
/* What the instructions above compute, lane by lane. */
TW_INLINE tw_ints tw_dot_half(int bits, tw_ints total, const tw_levels *w, const int8_t *a, int step) {
  for (int i = 0; i < TW_QUADS; i++) {
    for (int lane = 0; lane < TW_PANEL; lane++) {
      for (int c = 0; c < 4; c++) {
        const int32_t level = w[i][4 * lane + c];
        total[lane] += (bits == 8 && TW_LEVELS_SIGNED ? (int8_t)level : level) * a[i * step + c];
      }
    }
  }
  return total;
}
#endif

#ifdef TW_PAIRS
/* Sums of 16 bits hold two products of 8 bits with signs, four of 6 bits and eight of 5. */
TW_INLINE tw_ints tw_dot_half(int bits, tw_ints total, const tw_levels *w, const int8_t *a, int step) {
  TW_PAIRS sum[TW_QUADS];
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    const TW_PAIRS four = tw_all_fours(tw_four(a + i * step)), own = (TW_PAIRS)w[i];
    sum[i] = bits == 8 ? tw_pairs_of(tw_size_of(own), tw_turned(four, own)) : tw_pairs_of(own, four);
  }
  if (bits == 8) {
    TW_UNROLL for (int i = 0; i < TW_QUADS; i++) total += (tw_ints)tw_fours_of(sum[i]);
    return total;
  }
  const TW_PAIRS first = tw_add_pairs(sum[0], sum[1]), second = tw_add_pairs(sum[2], sum[3]);
  if (bits == 6) return total + (tw_ints)tw_fours_of(first) + (tw_ints)tw_fours_of(second);
  return total + (tw_ints)tw_fours_of(tw_add_pairs(first, second));
}
#endif

/* Rows of results of a panel, of which there may be fewer columns. */
TW_INLINE void tw_put_rows(int rows, const tw_floats *sums, const float *bias, int32_t columns, int64_t pitch,
                           float *y) {
  const int32_t count = columns < TW_PANEL ? columns : TW_PANEL;
  TW_UNROLL for (int row = 0; row < rows; row++) {
    if (count == TW_PANEL) {
      const tw_floats whole = bias ? sums[row] + tw_load_floats(bias) : sums[row];
      memcpy(y + row * pitch, &whole, sizeof whole);
    } else {
      float own[TW_PANEL];
      memcpy(own, sums + row, sizeof own);
      for (int32_t j = 0; j < count; j++) y[row * pitch + j] = own[j] + (bias ? bias[j] : 0.0f);
    }
  }
}

/* ---- tiles: some rows of bytes, some panels ----------------------------------------------------------------------- */

#if TW_PANEL == 16
#define TW_TILE_ROWS 6
#define TW_TILE_PANELS 2
#else
#define TW_TILE_ROWS 4
#define TW_TILE_PANELS 1
#endif

/* total[panel][row] += levels of half a block of each panel, [4][column][4], times [4][rows][4] bytes. */
TW_INLINE void tw_dot_tile(int bits, int rows, const uint8_t *levels, int64_t apart, const int8_t *a,
                           tw_ints total[TW_TILE_PANELS][TW_TILE_ROWS]) {
#if defined(TW_DOT_VNNI) && defined(__AVX512VNNI__) && TW_PANEL == 16
  (void)bits;
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    tw_levels w[TW_TILE_PANELS];
    TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) w[panel] = tw_load_levels(levels + panel * apart + 64 * i);
    TW_UNROLL for (int row = 0; row < rows; row++) {
      const __m512i four = _mm512_set1_epi32(tw_four(a + 4 * (i * rows + row)));
      TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
        total[panel][row] = (tw_ints)_mm512_dpbusd_epi32((__m512i)total[panel][row], (__m512i)w[panel], four);
      }
    }
  }
#elif defined(__ARM_FEATURE_DOTPROD) && TW_PANEL == 8
  if (rows == 4) {
    int32x4_t part[4][2];
    memcpy(part, total[0], sizeof part);
    TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
      const int8x16_t four = vld1q_s8(a + 16 * i);
      const int8x16_t left = vreinterpretq_s8_u8(vld1q_u8(levels + 32 * i));
      const int8x16_t right = vreinterpretq_s8_u8(vld1q_u8(levels + 32 * i + 16));
      part[0][0] = vdotq_laneq_s32(part[0][0], left, four, 0);
      part[0][1] = vdotq_laneq_s32(part[0][1], right, four, 0);
      part[1][0] = vdotq_laneq_s32(part[1][0], left, four, 1);
      part[1][1] = vdotq_laneq_s32(part[1][1], right, four, 1);
      part[2][0] = vdotq_laneq_s32(part[2][0], left, four, 2);
      part[2][1] = vdotq_laneq_s32(part[2][1], right, four, 2);
      part[3][0] = vdotq_laneq_s32(part[3][0], left, four, 3);
      part[3][1] = vdotq_laneq_s32(part[3][1], right, four, 3);
    }
    memcpy(total[0], part, sizeof part);
    return;
  }
#endif
#if !(defined(TW_DOT_VNNI) && defined(__AVX512VNNI__) && TW_PANEL == 16)
  TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
    tw_levels w[TW_QUADS];
    TW_UNROLL for (int i = 0; i < TW_QUADS; i++) w[i] = tw_load_levels(levels + panel * apart + 4 * TW_PANEL * i);
    TW_UNROLL for (int row = 0; row < rows; row++) {
      total[panel][row] = tw_dot_half(bits, total[panel][row], w, a + 4 * row, 4 * rows);
    }
  }
#endif
}

#endif
