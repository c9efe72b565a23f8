/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias of rows that the registers of a warp hold: a warp for each
 * row. What is constant is read while the launch before ends; statistics are optional results. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_layer_norm_held
#define TW_X float
#define TW_Y float
#endif
#define TW_GROUP_SIZE 64
#define TW_WAITS_ITSELF
#define TW_EARLY 6 /* scale, b */

#include <math.h>

#include "gpu_lanes.h"
#include "gpu_stored.h"
#include "row_norm.h"

enum {
  TW_WARP = 32,
  TW_PIECE = 16 / sizeof(TW_X),             /* elements that are read at once */
  TW_HELD = 32,                             /* of an item; MOST_HELD in plain.py */
  TW_PIECES = TW_HELD / TW_PIECE,
  TW_ROWS = TW_GROUP_SIZE / TW_WARP
};

typedef struct {
  TW_X at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_x_piece;

typedef struct {
  TW_Y at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_y_piece;

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four;

typedef struct {
  float x[TW_HELD], scale[TW_HELD], bias[TW_HELD], mean;
} tw_held;

static inline tw_grid grid(const tw_row_norm_params *params) {
  const tw_grid groups = {(params->rows + TW_ROWS - 1) / TW_ROWS, 1, 1};
  return groups;
}

/* Where an item's element is in its row. */
TW_GPU int32_t tw_at(int32_t t, int32_t i) {
  return (i / TW_PIECE * TW_WARP + t % TW_WARP) * TW_PIECE + i % TW_PIECE;
}

/* An item's part of constants; `none` where there are none. */
TW_GPU void tw_hold(float *held, const float *from, float none, int32_t length, int32_t t) {
  TW_UNROLL for (int32_t i = 0; i < TW_HELD; i += 4) {
    tw_four four = {{none, none, none, none}};
    if (from && tw_at(t, i) < length) four = *(const tw_four *)(from + tw_at(t, i));
    TW_UNROLL for (int32_t k = 0; k < 4; k++) held[i + k] = four.at[k];
  }
}

TW_GPU void group(const tw_row_norm_params *params, const TW_X *x, const float *scale, const float *b, TW_Y *y,
                  float *mean, float *invstddev) {
  const int32_t length = params->length;
  const float part = 1.0f / (float)length;
  TW_ITEM_OWN(tw_held, held, [1]);
  TW_ITEM_OWN(float, sums, [2]);
  TW_ITEM_OWN(float, other, [2]);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    tw_hold(held[TW_OWN(t)]->scale, scale, 1.0f, length, t);
    tw_hold(held[TW_OWN(t)]->bias, b, 0.0f, length, t);
  }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    const int32_t row = TW_GROUP_X * TW_ROWS + t / TW_WARP, is_there = row < params->rows;
    const TW_X *const from = x + (int64_t)(is_there ? row : 0) * length;
    tw_x_piece pieces[TW_PIECES];
    TW_UNROLL for (int32_t i = 0; i < TW_PIECES; i++) {
      const int32_t at = tw_at(t, i * TW_PIECE);
      pieces[i] = *(const tw_x_piece *)(from + (at < length ? at : 0));
    }
    float sum = 0.0f;
    TW_UNROLL for (int32_t i = 0; i < TW_HELD; i++) {
      const float value = TW_X_LOAD(pieces[i / TW_PIECE].at[i % TW_PIECE]);
      held[TW_OWN(t)]->x[i] = value;
      sum += tw_at(t, i) < length ? value : 0.0f;
    }
    sums[TW_OWN(t)][0] = sum;
  }
  TW_SUM_LANES(sums, other, 0, 1, TW_WARP);
  TW_ITEMS(t) {
    tw_held *const own = held[TW_OWN(t)];
    float rest = 0.0f, squares = 0.0f;
    own->mean = sums[TW_OWN(t)][0] * part;
    /* What the rounded mean lacks is found from the differences, as these are small. */
    TW_UNROLL for (int32_t i = 0; i < TW_HELD; i++) {
      own->x[i] = tw_at(t, i) < length ? own->x[i] - own->mean : 0.0f;
      rest += own->x[i];
      squares += own->x[i] * own->x[i];
    }
    sums[TW_OWN(t)][0] = rest;
    sums[TW_OWN(t)][1] = squares;
  }
  TW_SUM_LANES(sums, other, 0, 2, TW_WARP);
  TW_ITEMS(t) {
    const tw_held *const own = held[TW_OWN(t)];
    const int32_t row = TW_GROUP_X * TW_ROWS + t / TW_WARP;
    const float rest = sums[TW_OWN(t)][0] * part, variance = sums[TW_OWN(t)][1] * part - rest * rest;
    const float factor = 1.0f / sqrtf(variance + params->epsilon);
    if (row < params->rows) {
      TW_UNROLL for (int32_t i = 0; i < TW_HELD; i += TW_PIECE) {
        tw_y_piece piece;
        TW_UNROLL for (int32_t k = 0; k < TW_PIECE; k++) {
          piece.at[k] = TW_Y_STORE((own->x[i + k] - rest) * factor * own->scale[i + k] + own->bias[i + k]);
        }
        if (tw_at(t, i) < length) *(tw_y_piece *)(y + (int64_t)row * length + tw_at(t, i)) = piece;
      }
      if (t % TW_WARP == 0 && mean) mean[row] = own->mean + rest;
      if (t % TW_WARP == 0 && invstddev) invstddev[row] = factor;
    }
  }
}

TW_GPU_KERNEL(tw_row_norm_params,
              (const TW_X *x, const float *scale, const float *b, TW_Y *y, float *mean, float *invstddev),
              (x, scale, b, y, mean, invstddev))
