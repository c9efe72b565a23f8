/* Products of several rows with weights in blocks: tiles of 64 x 64 results, whose weights become floats on their way to
 * shared memory, 32 of every row at a time. A header of a format comes before. */
#define TW_GROUP_SIZE 256
#ifndef TW_NAME
#define TW_NAME tw_gpu_block_tiles
#include "gpu_block_q4_0.h"
#endif
#define TW_BIAS float
#define TW_BIAS_LOAD(element) (element)
#define TW_R float
#define TW_R_LOAD(element) (element)
#define TW_Y float
#define TW_Y_STORE(value) (value)

#include "gpu_block.h"
#include "gpu_few_rows_end.h"

enum { TW_TILE = 64, TW_OWN_ROWS = 4, TW_ACROSS = TW_TILE / TW_OWN_ROWS, TW_STORED_ROW = TW_TILE + 4 };

typedef struct {
  float at[TW_OWN_ROWS];
} __attribute__((aligned(16), may_alias)) tw_four;

/* Element after element, of all rows side by side. */
TW_GROUP_SHARED(tw_four, tw_x, [TW_BLOCK][TW_STORED_ROW / 4]);
TW_GROUP_SHARED(tw_four, tw_w, [TW_BLOCK][TW_STORED_ROW / 4]);

static inline tw_grid grid(const tw_gpu_few_rows_params *p) {
  const tw_grid groups = {(p->columns + TW_TILE - 1) / TW_TILE, (p->shape.rows + TW_TILE - 1) / TW_TILE, 1};
  return groups;
}

TW_GPU void tw_put(TW_LOCAL tw_four (*tile)[TW_STORED_ROW / 4], int32_t row, int32_t quarter, const float *some) {
  TW_LOCAL float *const to = (TW_LOCAL float *)tile + row;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    to[(4 * quarter + i) * TW_STORED_ROW] = some[i];
    to[(16 + 4 * quarter + i) * TW_STORED_ROW] = some[4 + i];
  }
}

/* A quarter of 32 elements of a row of each, from `at` on; rows behind the last are that one again. */
TW_GPU void tw_bring(const tw_gpu_few_rows_params *p, const float *x, const TW_WEIGHT *w, int32_t at, int32_t t) {
  const int32_t own = t / 4, quarter = t % 4;
  const int32_t row = TW_GROUP_Y * TW_TILE + own, column = TW_GROUP_X * TW_TILE + own;
  const float *const from = x + (int64_t)(row < p->shape.rows ? row : p->shape.rows - 1) * p->shape.x_row + at + 4 * quarter;
  float some[8];
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    some[i] = from[i];
    some[4 + i] = from[16 + i];
  }
  tw_put(tw_x, own, quarter, some);
  tw_quarter_at(w + (int64_t)(column < p->columns ? column : p->columns - 1) * p->w_row, p->shape.inner, at, quarter, some);
  tw_put(tw_w, own, quarter, some);
}

TW_GPU void tw_multiply(float *sums, int32_t t) {
  TW_UNROLL_BY(8) for (int32_t k = 0; k < TW_BLOCK; k++) {
    const tw_four x = tw_x[k][t / TW_ACROSS], w = tw_w[k][t % TW_ACROSS];
    TW_UNROLL for (int32_t i = 0; i < TW_OWN_ROWS; i++) {
      TW_UNROLL for (int32_t j = 0; j < TW_OWN_ROWS; j++) sums[i * TW_OWN_ROWS + j] += x.at[i] * w.at[j];
    }
  }
}

TW_GPU void group(const tw_gpu_few_rows_params *params, const float *a, const uint8_t *b, const float *c, const float *r,
                  float *y) {
  TW_ITEM_OWN(float, sums, [TW_OWN_ROWS * TW_OWN_ROWS]);
  TW_ITEMS(t) {
    TW_UNROLL for (int32_t i = 0; i < TW_OWN_ROWS * TW_OWN_ROWS; i++) sums[TW_OWN(t)][i] = 0.0f;
  }
  for (int32_t at = 0; at < params->shape.inner; at += TW_BLOCK) {
    if (at) TW_MEET();
    TW_ITEMS(t) { tw_bring(params, a, (const TW_WEIGHT *)b, at, t); }
    TW_MEET();
    TW_ITEMS(t) { tw_multiply(sums[TW_OWN(t)], t); }
  }
  TW_ITEMS(t) {
    TW_UNROLL for (int32_t i = 0; i < TW_OWN_ROWS * TW_OWN_ROWS; i++) {
      const int32_t row = TW_GROUP_Y * TW_TILE + t / TW_ACROSS * TW_OWN_ROWS + i / TW_OWN_ROWS;
      const int32_t column = TW_GROUP_X * TW_TILE + t % TW_ACROSS * TW_OWN_ROWS + i % TW_OWN_ROWS;
      if (row < params->shape.rows && column < params->columns) {
        tw_finish(params, c, r, y, row, column, sums[TW_OWN(t)][i]);
      }
    }
  }
}

TW_GPU_KERNEL(tw_gpu_few_rows_params,
              (const float *a, const uint8_t *b, const float *c, const float *r, float *y), (a, b, c, r, y))
