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
#ifndef TW_WEIGHT
#define TW_WEIGHT TW_W
#define TW_WEIGHT_LOAD TW_W_LOAD
#endif

#include <math.h>

#define TW_EARLY 30 /* scale, w, w1, w2 */
#define TW_IS_SCALED 1
#include "gpu_columns.h"
#include "gpu_projections.h"

struct tw_work {
  const tw_gpu_projections_params *p;
  const float *scale;
  const TW_WEIGHT *w, *w1, *w2;
  const float *b, *b1, *b2;
  TW_Y *y, *y1, *y2;
};

static inline tw_grid grid(const tw_gpu_projections_params *p) {
  const tw_grid groups = {p->shape.groups, 1, 1};
  return groups;
}

/* The matrix that a pair of columns is of, the first of them, and whether the second is there too. */
typedef struct {
  const TW_WEIGHT *w;
  const float *bias;
  TW_Y *y;
  int32_t column, columns, has_other;
} tw_part;

TW_GPU tw_part tw_part_of(const tw_work *work, int32_t two) {
  const int32_t *const columns = work->p->columns;
  const int32_t first = (columns[0] + 1) / 2, second = first + (columns[1] + 1) / 2;
  tw_part part = {work->w, work->b, work->y, 2 * two, columns[0], 0};
  if (two >= second) {
    part = (tw_part){work->w2, work->b2, work->y2, 2 * (two - second), columns[2], 0};
  } else if (two >= first) {
    part = (tw_part){work->w1, work->b1, work->y1, 2 * (two - first), columns[1], 0};
  }
  part.has_other = part.column + 1 < part.columns;
  return part;
}

TW_GPU tw_two_rows tw_rows_of(const tw_work *work, int32_t two) {
  const int32_t w_row = work->p->w_row;
  if (work->p->gated) {
    const tw_two_rows both = {work->w + (int64_t)two * w_row, work->w1 + (int64_t)two * w_row};
    return both;
  }
  const tw_part part = tw_part_of(work, two);
  const TW_WEIGHT *const one = part.w + (int64_t)part.column * w_row;
  const tw_two_rows rows = {one, part.has_other ? one + w_row : one};
  return rows;
}

TW_GPU void tw_end(const tw_work *work, int32_t two, int32_t row, const tw_two_sums *sums) {
  const tw_gpu_projections_params *const p = work->p;
  float factor = 1.0f;
  if (work->scale) factor = 1.0f / sqrtf(sums->squares / (float)p->shape.inner + p->epsilon);
  float one = sums->one * factor, other = sums->other * factor;
  if (p->gated) {
    if (work->b) one += work->b[two];
    if (work->b1) other += work->b1[two];
    tw_activate(&p->activation, &one, 1, 1);
    work->y[(int64_t)row * p->columns[0] + two] = TW_Y_STORE(one * other);
    return;
  }
  const tw_part part = tw_part_of(work, two);
  TW_Y *const y = part.y + (int64_t)row * part.columns + part.column;
  y[0] = TW_Y_STORE(part.bias ? one + part.bias[part.column] : one);
  if (part.has_other) y[1] = TW_Y_STORE(part.bias ? other + part.bias[part.column + 1] : other);
}

TW_GPU void group(const tw_gpu_projections_params *params, const TW_X *x, const float *scale, const TW_W *w,
                  const TW_W *w1, const TW_W *w2, const float *b, const float *b1, const float *b2, TW_Y *y, TW_Y *y1,
                  TW_Y *y2) {
  const tw_work work = {params, scale, (const TW_WEIGHT *)w, (const TW_WEIGHT *)w1, (const TW_WEIGHT *)w2, b, b1, b2, y,
                        y1, y2};
  tw_multiply_columns(&params->shape, &work, x, scale);
}

TW_GPU_KERNEL(tw_gpu_projections_params,
              (const TW_X *x, const float *scale, const TW_W *w, const TW_W *w1, const TW_W *w2, const float *b,
               const float *b1, const float *b2, TW_Y *y, TW_Y *y1, TW_Y *y2),
              (x, scale, w, w1, w2, b, b1, b2, y, y1, y2))
