/* Products of few rows with up to three matrices, whose rows have their elements side by side. With a scale, rows are
 * normalised before, by the root of the mean of their squares: every column finds that along with its sum. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_projections
#define TW_X float
#define TW_W float
#define TW_Y float
#endif
#include "gpu_stored.h"
#define TW_FACTOR TW_X
#define TW_FACTOR_LOAD TW_X_LOAD
#define TW_WEIGHT TW_W
#define TW_WEIGHT_LOAD TW_W_LOAD

#include <math.h>

#define TW_EARLY 28 /* w, w1, w2 */
#include "gpu_columns.h"
#include "gpu_projections.h"

TW_GROUP_SHARED(float, tw_others, [TW_MOST_ROWS * TW_GROUP_SIZE]);  /* sums of the second factor of gated ones */
TW_GROUP_SHARED(float, tw_squares, [TW_MOST_ROWS * TW_GROUP_SIZE]); /* of a row, from the items of a column */

TW_GPU int32_t tw_groups_of(int32_t columns) { return (columns + TW_COLUMNS - 1) / TW_COLUMNS; }

static inline tw_grid grid(const tw_gpu_projections_params *p) {
  tw_grid groups = {tw_groups_of(p->columns[0]), 1, 1};
  if (!p->gated) groups.x += tw_groups_of(p->columns[1]) + tw_groups_of(p->columns[2]);
  return groups;
}

/* What a group multiplies with, and where its results go. */
typedef struct {
  const TW_W *w, *other;
  const float *bias, *other_bias;
  TW_Y *y;
  int32_t first, columns;
} tw_part;

TW_GPU void tw_leave_sums(TW_LOCAL float *to, const float *sum, int32_t t) {
  TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) to[row * TW_GROUP_SIZE + t] = sum[row];
}

TW_GPU void tw_project(const tw_gpu_projections_params *p, const TW_X *x, const float *scale, const tw_part *part) {
  TW_ITEM_OWN(tw_weights, ahead, [TW_AHEAD]);
  TW_ITEM_OWN(tw_weights, other_ahead, [TW_AHEAD]);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    const int32_t column = part->first + t / TW_LANES, start = t % TW_LANES * TW_PIECE;
    const int64_t at = column < part->columns ? (int64_t)column * p->inner : 0;
    tw_fetch(ahead[TW_OWN(t)], part->w + at, p->inner, start);
    if (p->gated) tw_fetch(other_ahead[TW_OWN(t)], part->other + at, p->inner, start);
  }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    float sum[TW_MOST_ROWS] = {0}, other[TW_MOST_ROWS] = {0}, squares[TW_MOST_ROWS] = {0};
    const int32_t column = part->first + t / TW_LANES;
    if (column < part->columns) {
      const int64_t at = (int64_t)column * p->inner;
      tw_share(ahead[TW_OWN(t)], p->rows, p->inner, p->inner, x, scale, part->w + at, t, sum, squares);
      if (p->gated) {
        float again[TW_MOST_ROWS] = {0};
        tw_share(other_ahead[TW_OWN(t)], p->rows, p->inner, p->inner, x, scale, part->other + at, t, other, again);
      }
    }
    tw_leave_sums(tw_sums, sum, t);
    if (p->gated) tw_leave_sums(tw_others, other, t);
    if (scale) tw_leave_sums(tw_squares, squares, t);
  }
  TW_MEET();
  TW_ITEMS(t) {
    const int32_t row = t / TW_COLUMNS, own = t % TW_COLUMNS, column = part->first + own;
    if (row < p->rows && column < part->columns) {
      float factor = 1.0f, total = tw_column_sum(tw_sums, row, own);
      if (scale) factor = 1.0f / sqrtf(tw_column_sum(tw_squares, row, own) / (float)p->inner + p->epsilon);
      total = total * factor + (part->bias ? part->bias[column] : 0.0f);
      if (p->gated) {
        const float other = tw_column_sum(tw_others, row, own) * factor;
        tw_activate(&p->activation, &total, 1, 1);
        total *= other + (part->other_bias ? part->other_bias[column] : 0.0f);
      }
      part->y[(int64_t)row * part->columns + column] = TW_Y_STORE(total);
    }
  }
}

TW_GPU void group(const tw_gpu_projections_params *params, const TW_X *x, const float *scale, const TW_W *w,
                  const TW_W *w1, const TW_W *w2, const float *b, const float *b1, const float *b2, TW_Y *y, TW_Y *y1,
                  TW_Y *y2) {
  const int32_t first = tw_groups_of(params->columns[0]), second = first + tw_groups_of(params->columns[1]);
  tw_part part = {w, w1, b, b1, y, TW_GROUP_X * TW_COLUMNS, params->columns[0]};
  if (TW_GROUP_X >= second) {
    part = (tw_part){w2, NULL, b2, NULL, y2, (TW_GROUP_X - second) * TW_COLUMNS, params->columns[2]};
  } else if (TW_GROUP_X >= first) {
    part = (tw_part){w1, NULL, b1, NULL, y1, (TW_GROUP_X - first) * TW_COLUMNS, params->columns[1]};
  }
  tw_project(params, x, scale, &part);
}

TW_GPU_KERNEL(tw_gpu_projections_params,
              (const TW_X *x, const float *scale, const TW_W *w, const TW_W *w1, const TW_W *w2, const float *b,
               const float *b1, const float *b2, TW_Y *y, TW_Y *y1, TW_Y *y2),
              (x, scale, w, w1, w2, b, b1, b2, y, y1, y2))
