/* y[i, j] = sum of a[i, k] * (b[j, k] - zero) * scale, with weights of 2, 4 or 8 bits in blocks: 32 items have a column for
 * some rows, and read its weights word by word, neighbours side by side. */
#define TW_GROUP_SIZE 128
#include "gpu_lanes.h"
#include "half.h"
#include "matmul_nbits.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_matmul_nbits
#define TW_A float
#define TW_Y float
#endif
#ifndef TW_A_LOAD
#define TW_A_LOAD(element) (element)
#endif
#ifndef TW_Y_STORE
#define TW_Y_STORE(value) (value)
#endif

enum {
  TW_WARP = 32,
  TW_WARPS = TW_GROUP_SIZE / TW_WARP,
  TW_ROWS = 4, /* for which weights are read once */
  TW_WORD = 4  /* bytes */
};

typedef uint32_t __attribute__((may_alias)) tw_few_bits;

/* What some bytes of a column, from the i-th such piece on, add to the sums of rows. */
TW_GPU void tw_add_piece(const tw_matmul_nbits_params *p, float *sums, const TW_A *a, int32_t rows, const uint8_t *b,
                         const float *scales, const uint8_t *zeros, int32_t i, int32_t bytes) {
  const uint32_t word = bytes == TW_WORD ? ((const tw_few_bits *)b)[i] : b[i], mask = (1u << p->bits) - 1;
  const int32_t block = i * bytes / p->block_bytes, count = bytes * 8 / p->bits, first = i * count;
  const float zero = (float)(zeros ? zeros[block] : 1 << (p->bits - 1)), scale = scales[block];
  for (int32_t j = 0; j < count && first + j < p->inner; j++) {
    const float weight = ((float)(word >> (j * p->bits) & mask) - zero) * scale;
    TW_UNROLL for (int32_t row = 0; row < TW_ROWS; row++) {
      if (row < rows) sums[row] += TW_A_LOAD(a[(int64_t)row * p->inner + first + j]) * weight;
    }
  }
}

static inline tw_grid grid(const tw_matmul_nbits_params *params) {
  const tw_grid groups = {(params->columns + TW_WARPS - 1) / TW_WARPS, (params->rows + TW_ROWS - 1) / TW_ROWS, 1};
  return groups;
}

TW_GPU void group(const tw_matmul_nbits_params *params, const TW_A *a, const uint8_t *b, const float *scales,
                  const uint8_t *zeros, TW_Y *y) {
  const int32_t first_row = TW_GROUP_Y * TW_ROWS, left = params->rows - first_row, rows = left < TW_ROWS ? left : TW_ROWS;
  const int32_t column_bytes = params->blocks * params->block_bytes, bytes = params->block_bytes % TW_WORD ? 1 : TW_WORD;
  TW_ITEM_OWN(float, sums, [TW_ROWS]);
  TW_ITEM_OWN(float, other, [TW_ROWS]);
  a += (int64_t)first_row * params->inner;
  TW_ITEMS(t) {
    const int32_t own = TW_GROUP_X * TW_WARPS + t / TW_WARP, column = own < params->columns ? own : 0;
    const uint8_t *const weights = b + (int64_t)column * column_bytes;
    const float *const scales_there = scales + (int64_t)column * params->blocks;
    const uint8_t *const zeros_there = zeros ? zeros + (int64_t)column * params->blocks : zeros;
    TW_UNROLL for (int32_t row = 0; row < TW_ROWS; row++) sums[TW_OWN(t)][row] = 0.0f;
    for (int32_t i = t % TW_WARP; i < column_bytes / bytes; i += TW_WARP) {
      tw_add_piece(params, sums[TW_OWN(t)], a, rows, weights, scales_there, zeros_there, i, bytes);
    }
  }
  TW_SUM_LANES(sums, other, 0, TW_ROWS, TW_WARP);
  TW_ITEMS(t) {
    const int32_t column = TW_GROUP_X * TW_WARPS + t / TW_WARP, row = t % TW_WARP;
    TW_UNROLL for (int32_t i = 0; i < TW_ROWS; i++) {
      if (row == i && i < rows && column < params->columns) {
        y[(int64_t)(first_row + i) * params->columns + column] = TW_Y_STORE(sums[TW_OWN(t)][i]);
      }
    }
  }
}

TW_GPU_KERNEL(tw_matmul_nbits_params,
              (const TW_A *a, const uint8_t *b, const float *scales, const uint8_t *zeros, TW_Y *y),
              (a, b, scales, zeros, y))
