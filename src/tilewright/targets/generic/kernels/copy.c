/* Elements of x in another order: transposed, sliced or repeated. */
#include "copy.h"

#include "bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_copy_f32
#define TW_X float
#define TW_Y float
#endif

/* A block of this many rows and columns stays in the cache while a transposition reads across rows. */
enum { BLOCK = 16 };

static void copy_block(const TW_X *x, TW_Y *y, int32_t rows, int32_t columns, int32_t row_length, int32_t row_step,
                       int32_t step) {
  for (int32_t row = 0; row < rows; row++) {
    for (int32_t i = 0; i < columns; i++) y[row * row_length + i] = x[row * row_step + i * step];
  }
}

/* Rows of a contiguous y from elements of x that are `step` apart in a row and `row_step` from row to row. */
static void copy_plane(const TW_X *x, TW_Y *y, int32_t rows, int32_t columns, int32_t row_step, int32_t step) {
  if (step == 1) {
    for (int32_t row = 0; row < rows; row++) {
      memcpy(y + row * columns, x + row * row_step, (size_t)columns * sizeof *y);
    }
    return;
  }
  for (int32_t top = 0; top < rows; top += BLOCK) {
    for (int32_t left = 0; left < columns; left += BLOCK) {
      copy_block(x + top * row_step + left * step, y + top * columns + left, tw_min(BLOCK, rows - top),
                 tw_min(BLOCK, columns - left), columns, row_step, step);
    }
  }
}

void TW_NAME(const tw_copy_params *params, const TW_X *x, TW_Y *y) {
  const int32_t last = params->rank - 1, outer = params->rank > 1 ? params->rank - 2 : 0;
  const int32_t columns = params->size[last], step = params->stride[last];
  const int32_t rows = params->rank > 1 ? params->size[outer] : 1;
  const int32_t row_step = params->rank > 1 ? params->stride[outer] : 0;
  const int32_t planes = tw_walk_length(outer, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = params->start;
  for (int32_t plane = 0; plane < planes; plane++) {
    copy_plane(x + offset, y, rows, columns, row_step, step);
    y += rows * columns;
    tw_walk(outer, params->size, params->stride, at, &offset);
  }
}
