/* Matrix product of floats, both operands stored in any way; all cores together. Blocks of 4 x 4 results stay in
 * registers: 16 products for 8 loads. Two cores share a floating-point unit, which such a block keeps busy. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_blocks_f32
#endif

#include "blocks_f32.h"
#include "cluster.h"
#include "positive_f32.h"

typedef struct {
  const tw_matmul_params *p;
  const float *a, *b, *c;
  float *y;
} work;

static TW_COMPACT void find_batch(const tw_matmul_params *p, int32_t number, tw_batch *batch) {
  batch->a = batch->b = batch->c = batch->y = 0;
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    const int32_t next = number / p->size[axis], at = number - next * p->size[axis];
    batch->a += at * p->stride_a[axis];
    batch->b += at * p->stride_b[axis];
    batch->c += at * p->stride_c[axis];
    batch->y += at * p->stride_y[axis];
    number = next;
  }
}

/* Four results of a row. */
static inline void store_four(const work *k, int32_t row, int32_t column, const float *total) {
  const tw_matmul_params *const p = k->p;
  const float alpha = p->alpha;
  float *const y = k->y + row * p->y_row + column;
  float t0 = total[0], t1 = total[1], t2 = total[2], t3 = total[3];
  if (alpha != 1.0f) t0 *= alpha, t1 *= alpha, t2 *= alpha, t3 *= alpha;
  if (k->c) {
    const float beta = p->beta;
    const int32_t step = p->c_column;
    const float *const c = k->c + row * p->c_row + column * step;
    const float c0 = c[0], c1 = c[step], c2 = c[2 * step], c3 = c[3 * step];
    t0 += beta * c0, t1 += beta * c1, t2 += beta * c2, t3 += beta * c3;
  }
  y[0] = t0, y[1] = t1, y[2] = t2, y[3] = t3;
}

/* Any number of results of a row, anywhere. */
static void store_some(const work *k, int32_t row, int32_t column, int32_t columns, const float *total) {
  const tw_matmul_params *const p = k->p;
  for (int32_t f = 0; f < columns; f++) {
    float value = p->alpha * total[f];
    if (k->c) value += p->beta * k->c[row * p->c_row + (column + f) * p->c_column];
    k->y[row * p->y_row + (column + f) * p->y_column] = value;
  }
}

/* A block of results from `row` and `column` on. Rows and columns that are not there repeat the last one. */
static void block(const work *k, int32_t row, int32_t column) {
  const tw_matmul_params *const p = k->p;
  const int32_t rows = tw_min(4, p->rows - row), columns = tw_min(4, p->columns - column);
  const int32_t a_row = p->a_row, b_column = p->b_column;
  float total[16];
  const float *a[4], *b[4];
  a[0] = k->a + row * a_row, b[0] = k->b + column * b_column;
  for (int i = 1; i < 4; i++) {
    a[i] = i < rows ? a[i - 1] + a_row : a[i - 1];
    b[i] = i < columns ? b[i - 1] + b_column : b[i - 1];
  }
  for (int i = 0; i < 16; i++) total[i] = 0.0f;
  if (p->inner > 0) tw_block_f32(a, p->a_column, b, p->b_row, p->inner, total);
  for (int32_t r = 0; r < rows; r++) {
    if (columns == 4 && p->y_column == 1) {
      store_four(k, row + r, column, total + 4 * r);
    } else {
      store_some(k, row + r, column, columns, total + 4 * r);
    }
  }
  /* A second time over the block, rather than a test of each result. */
  float *const y = k->y + row * p->y_row + column * p->y_column;
  for (int32_t r = 0; p->activation.kind && r < rows; r++) tw_all_positive(y + r * p->y_row, columns, p->y_column);
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y) {
  const tw_matmul_params *const p = params;
  const int32_t rows = (p->rows + 3) >> 2, columns = (p->columns + 3) >> 2;
  int32_t batches = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) batches *= p->size[axis];
  const tw_share share = tw_share_of(batches * rows * columns);
  if (share.first >= share.end) return;
  int32_t number = share.first / (rows * columns), row = share.first - number * rows * columns;
  int32_t column = row / rows;
  row -= column * rows;
  tw_batch at;
  find_batch(p, number, &at);
  for (int32_t i = share.first; i < share.end; i++) {
    const work k = {p, a + at.a, b + at.b, c ? c + at.c : 0, y + at.y};
    block(&k, 4 * row, 4 * column);
    if (++row < rows) continue;
    row = 0;
    if (++column < columns) continue;
    column = 0;
    find_batch(p, ++number, &at);
  }
}
