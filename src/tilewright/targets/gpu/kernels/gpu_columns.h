/* Products of few rows with a matrix, as fast as the matrix can be read: 32 items of a group share a column of the
 * result, 16 bytes of a row of w at a time, several of them on their way.
 *
 * A kernel defines TW_FACTOR (what x is) and TW_WEIGHT, and how each is read, before; and with TW_EARLY which pointers
 * are weights, of which the first pieces come while the launch before ends. */
#ifndef TW_GPU_COLUMNS_H
#define TW_GPU_COLUMNS_H

#define TW_GROUP_SIZE 256
#define TW_WAITS_ITSELF

#include "gpu.h"
#include "gpu_unroll.h"
#include "half.h"

enum {
  TW_LANES = 32,
  TW_COLUMNS = TW_GROUP_SIZE / TW_LANES,
  TW_MOST_ROWS = 4, /* MOST_ROWS in few_rows.py */
  TW_AHEAD = 4,
  TW_PIECE = 16 / sizeof(TW_WEIGHT) /* elements */
};

/* Elements as words, of which GPUs keep one in a register: two floats of 16 bits, the first one in the lower half. */
typedef struct {
  uint32_t at[4];
} __attribute__((aligned(16), may_alias)) tw_weights;

typedef struct {
  uint32_t at[TW_PIECE * sizeof(TW_FACTOR) / 4];
} __attribute__((aligned(sizeof(TW_FACTOR) * TW_PIECE < 16 ? 8 : 16), may_alias)) tw_elements;

#define TW_OF_WORDS(TYPE, LOAD, WORDS, I)                                                 \
  (sizeof(TYPE) == 2 ? LOAD((uint16_t)((WORDS)[(I) / 2] >> ((I) % 2 * 16))) : tw_float_of_bits((WORDS)[(I) % TW_PIECE]))

typedef struct {
  float at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_scales;

TW_GROUP_SHARED(float, tw_sums, [TW_MOST_ROWS * TW_GROUP_SIZE]);

/* The pieces of a row of w that an item multiplies next, from an element on; behind the end, the first ones. */
TW_GPU void tw_fetch(tw_weights *ahead, const TW_WEIGHT *w, int32_t inner, int32_t first) {
  TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
    const int32_t at = first + i * TW_LANES * TW_PIECE;
    ahead[i] = *(const tw_weights *)(w + (at < inner ? at : 0));
  }
}

/* What pieces add to the sum of a row; where elements are scaled, to the sum of their squares too. */
TW_GPU void tw_add_pieces(const tw_weights *ahead, const TW_FACTOR *x, const float *scale, int32_t inner, int32_t first,
                          float *sum, float *squares) {
  TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
    const int32_t at = first + i * TW_LANES * TW_PIECE, counts = at < inner;
    const tw_elements piece = *(const tw_elements *)(x + (counts ? at : 0));
    tw_scales scales;
    if (scale) scales = *(const tw_scales *)(scale + (counts ? at : 0));
    TW_UNROLL for (int32_t k = 0; k < TW_PIECE; k++) {
      const float value = counts ? TW_OF_WORDS(TW_FACTOR, TW_FACTOR_LOAD, piece.at, k) : 0.0f;
      const float weight = TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, ahead[i].at, k);
      *sum += counts ? (scale ? value * scales.at[k] : value) * weight : 0.0f;
      if (scale) *squares += value * value;
    }
  }
}

/* An item's share of the sums of a column, whose weights begin at w; the first of them are there. */
TW_GPU void tw_share(tw_weights *ahead, int32_t rows, int32_t inner, int32_t x_row, const TW_FACTOR *x,
                     const float *scale, const TW_WEIGHT *w, int32_t t, float *sum, float *squares) {
  for (int32_t first = t % TW_LANES * TW_PIECE; first < inner; first += TW_LANES * TW_PIECE * TW_AHEAD) {
    if (first != t % TW_LANES * TW_PIECE) tw_fetch(ahead, w, inner, first);
    TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) {
      if (row < rows) {
        tw_add_pieces(ahead, x + (int64_t)row * x_row, scale, inner, first, sum + row, squares + row);
      }
    }
  }
}

/* The sum of what the items of a column have left in `sums`. */
TW_GPU float tw_column_sum(const TW_LOCAL float *sums, int32_t row, int32_t column) {
  float total = 0.0f;
  for (int32_t i = 0; i < TW_LANES; i++) {
    total += sums[row * TW_GROUP_SIZE + column * TW_LANES + (i + column) % TW_LANES];
  }
  return total;
}

#endif
