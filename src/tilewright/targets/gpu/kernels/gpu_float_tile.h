/* What an item multiplies of two tiles of floats, on tensor cores where there are any.
 *
 * Those multiply floats of 11 bits (tf32). So each factor is the sum of two of them, and the three larger of the four
 * products are summed: what is lost is as little as a float's last bit. Sums of the large parts are joined step by step
 * as floats are, for tensor cores cut off what they add; those with a small part have sums of their own, as they would
 * be no numbers beside an infinite factor. */
#ifndef TW_GPU_FLOAT_TILE_H
#define TW_GPU_FLOAT_TILE_H

#include "gpu_float_parts.h"
#include "gpu_warp_tile.h"

typedef float total_t;
#define TW_MORE_SUMS TW_SUMS

#if TW_IS_ASYNC

/* Leaves the large parts. */
TW_GPU void tw_split(uint32_t *x, uint32_t *small, int32_t count) {
  TW_UNROLL for (int32_t i = 0; i < count; i++) {
    const uint32_t large = tw_large_part(x[i]);
    small[i] = tw_small_part(x[i], large);
    x[i] = large;
  }
}

TW_GPU void tw_mma(float *c, const uint32_t *a, const uint32_t *b) {
  __asm__ volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                   "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

TW_GPU void tw_mma_all(float *sums, const tw_factors *x, const tw_factors *w) {
  TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
    TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(sums + (i * TW_NI + j) * 4, x->a[i], w->b[j]);
  }
}

TW_GPU void tw_multiply(float *total, float *more, int32_t x_zero, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w,
                        int32_t t) {
  float sums[TW_SUMS];
  (void)x_zero;
  TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) sums[i] = 0.0f;
  TW_UNROLL for (int32_t first = 0; first < TW_ROW_BYTES; first += TW_SLICES * TW_MMA_BYTES) {
    tw_factors large, small;
    tw_load_factors(&large, x, w, first + tw_slice(t) * TW_MMA_BYTES, t);
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) tw_split(large.a[i], small.a[i], 4);
    TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_split(large.b[j], small.b[j], 2);
    tw_mma_all(more, &large, &small);
    tw_mma_all(sums, &large, &large);
    tw_mma_all(more, &small, &large);
  }
  TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) total[i] += sums[i];
}

#else

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four_steps;

TW_GPU tw_four_steps tw_steps_at(const TW_LOCAL uint8_t *tile, int32_t row, int32_t byte) {
  return *(const TW_LOCAL tw_four_steps *)(tile + tw_place(row, byte));
}

/* Every row and column of the item's is read once, four steps at once. */
TW_GPU void tw_multiply(float *total, float *more, int32_t x_zero, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w,
                        int32_t t) {
  (void)more, (void)x_zero;
  for (int32_t byte = 0; byte < TW_ROW_BYTES; byte += TW_PIECE_BYTES) {
    if (byte / TW_MMA_BYTES % TW_SLICES != tw_slice(t)) continue;
    tw_four_steps a[TW_MI * 2], b[TW_NI * 2];
    for (int32_t i = 0; i < TW_MI * 2; i++) a[i] = tw_steps_at(x, tw_sum_row(t, i / 2 * TW_NI * 4 + i % 2 * 2), byte);
    for (int32_t j = 0; j < TW_NI * 2; j++) b[j] = tw_steps_at(w, tw_sum_column(t, j / 2 * 4 + j % 2), byte);
    for (int32_t k = 0; k < 4; k++) {
      for (int32_t i = 0; i < TW_SUMS; i++) {
        total[i] += a[i / (TW_NI * 4) * 2 + i % 4 / 2].at[k] * b[i / 4 % TW_NI * 2 + i % 2].at[k];
      }
    }
  }
}

#endif

/* A sum that is no number, or infinite, is so by its large parts. */
TW_GPU float tw_whole_sum(float total, float more, int32_t x_zero) {
  (void)x_zero;
  return total - total == 0.0f ? total + more : total;
}

#endif
