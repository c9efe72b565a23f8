/* y[batch][column][row] = x[batch][row][column] */
#include "transpose_matrix.h"

#include <string.h>

#ifndef TW_NAME
#define TW_NAME tw_transpose_matrix
#endif

enum { BLOCK = 16, PIECE = 128, APART = PIECE + 16, MOST_WOVEN = 4 };

/* A piece of a few rows, whose number is a constant, woven together. */
static inline void weave(const int rows, const float *restrict x, int32_t columns, float *restrict y) {
  for (int32_t c = 0; c < columns; c++) {
    for (int r = 0; r < rows; r++) y[rows * c + r] = x[r * APART + c];
  }
}

/* Rows of images are often so far apart that processors take reads of several at once for reads of what was just
 * written: pieces of them are copied first. */
static void few_rows(const float *restrict x, int32_t rows, int32_t columns, float *restrict y) {
  float piece[MOST_WOVEN * APART];
  for (int32_t first = 0; first < columns; first += PIECE, y += rows * PIECE) {
    const int32_t count = tw_min(PIECE, columns - first);
    for (int32_t r = 0; r < rows; r++) {
      memcpy(piece + r * APART, x + (int64_t)r * columns + first, (size_t)count * sizeof *x);
    }
    if (rows == 2) weave(2, piece, count, y);
    else if (rows == 3) weave(3, piece, count, y);
    else weave(4, piece, count, y);
  }
}

/* Blocks whose lines of memory stay in the cache while they are read and written. */
static void in_blocks(const float *restrict x, int32_t rows, int32_t columns, float *restrict y) {
  for (int32_t c = 0; c < columns; c += BLOCK) {
    const int32_t end = tw_min(c + BLOCK, columns);
    for (int32_t r = 0; r < rows; r += BLOCK) {
      const int32_t last = tw_min(r + BLOCK, rows);
      for (int32_t i = c; i < end; i++) {
        for (int32_t j = r; j < last; j++) y[(int64_t)i * rows + j] = x[(int64_t)j * columns + i];
      }
    }
  }
}

static void one_matrix(const float *restrict x, int32_t rows, int32_t columns, float *restrict y) {
  if (rows > 1 && rows <= MOST_WOVEN) few_rows(x, rows, columns, y);
  else in_blocks(x, rows, columns, y);
}

void TW_NAME(const tw_transpose_matrix_params *params, const float *x, float *y) {
  const int64_t size = (int64_t)params->rows * params->columns;
  for (int32_t i = 0; i < params->batch; i++) one_matrix(x + i * size, params->rows, params->columns, y + i * size);
}
