/* A transposition whose last axis changes places with one that is not beside it: squares of the two, so that lines of
 * memory are used while they are in the cache. */
#include "copy.h"

#ifndef TW_NAME
#define TW_NAME tw_transpose_apart
#endif

enum { BLOCK = 16 };

/* The axis of the result along which x lies in one piece. */
static int32_t joined_axis(const tw_copy_params *p) {
  int32_t found = 0;
  for (int32_t axis = 0; axis < p->rank; axis++) {
    if (p->size[axis] > 1 && p->stride[axis] == 1) found = axis;
  }
  return found;
}

/* y[row * y_row + column] = x[row + column * step] */
static void one_matrix(const float *x, int32_t rows, int32_t columns, int32_t step, int32_t y_row, float *y) {
  for (int32_t top = 0; top < rows; top += BLOCK) {
    const int32_t last = tw_min(top + BLOCK, rows);
    for (int32_t left = 0; left < columns; left += BLOCK) {
      const int32_t end = tw_min(left + BLOCK, columns);
      for (int32_t row = top; row < last; row++) {
        for (int32_t column = left; column < end; column++) {
          y[(int64_t)row * y_row + column] = x[row + (int64_t)column * step];
        }
      }
    }
  }
}

void TW_NAME(const tw_copy_params *params, const float *x, float *y) {
  const int32_t last = params->rank - 1, joined = joined_axis(params);
  const int32_t inner = tw_walk_length(last - joined, params->size + joined + 1);
  int32_t size[TW_MAX_RANK], stride[TW_MAX_RANK], y_stride[TW_MAX_RANK], at[TW_MAX_RANK] = {0}, rank = 0;
  for (int32_t axis = 0, rest = tw_walk_length(params->rank, params->size); axis < last; axis++) {
    rest /= params->size[axis];
    if (axis == joined) continue;
    size[rank] = params->size[axis];
    stride[rank] = params->stride[axis];
    y_stride[rank++] = rest;
  }
  const int32_t matrices = tw_walk_length(rank, size);
  for (int32_t matrix = 0, from = params->start; matrix < matrices; matrix++) {
    int32_t to = 0;
    for (int32_t axis = 0; axis < rank; axis++) to += at[axis] * y_stride[axis];
    one_matrix(x + from, params->size[joined], params->size[last], params->stride[last], inner, y + to);
    tw_walk(rank, size, stride, at, &from);
  }
}
