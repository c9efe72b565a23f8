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

/* Any number of results of a row, anywhere. */
static void store_some(const work *k, int32_t row, int32_t column, int32_t columns, const float *total) {
  const tw_matmul_params *const p = k->p;
  for (int32_t f = 0; f < columns; f++) {
    float value = p->alpha * total[f];
    if (k->c) value += p->beta * k->c[row * p->c_row + (column + f) * p->c_column];
    k->y[row * p->y_row + (column + f) * p->y_column] = value;
  }
}

/* A block of results from `row` and `column` on, however operands and results lie. Rows and columns that are not there repeat the last one. */
static __attribute__((noinline)) void block(const work *k, int32_t row, int32_t column) {
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
  if (p->inner > 0) tw_block_f32(a, p->a_column, b, p->b_row, p->inner, tw_in_place(total));
  for (int32_t r = 0; r < rows; r++) store_some(k, row + r, column, columns, total + 4 * r);
  /* A second time over the block, rather than a test of each result. */
  float *const y = k->y + row * p->y_row + column * p->y_column;
  for (int32_t r = 0; p->activation.kind && r < rows; r++) tw_all_positive(y + r * p->y_row, columns, p->y_column);
}

/* Whole blocks below each other from `row` on, whose results begin from zeros or from c and need nothing else. */
static __attribute__((noinline)) void whole_blocks(const work *k, int32_t row, int32_t column, int32_t blocks) {
  const tw_matmul_params *const p = k->p;
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const int32_t a_row = p->a_row, b_column = p->b_column, a_step = p->a_column, b_step = p->b_row, inner = p->inner;
  const float *a0 = k->a + row * a_row, *const b0 = k->b + column * b_column;
  const float *const b[4] = {b0, b0 + b_column, b0 + 2 * b_column, b0 + 3 * b_column};
  float *const y = k->y + row * p->y_row + column;
  tw_block_ends ends = {k->c ? k->c + row * p->c_row + column : zeros, k->c ? p->c_row : 0, y, p->y_row};
  for (int32_t i = blocks; i > 0; i--) {
    const float *const a[4] = {a0, a0 + a_row, a0 + 2 * a_row, a0 + 3 * a_row};
    tw_block_f32(a, a_step, b, b_step, inner, ends);
    a0 += 4 * a_row;
    ends.from += 4 * ends.from_step;
    ends.to += 4 * ends.to_step;
  }
  for (int32_t r = 0; p->activation.kind && r < 4 * blocks; r++) tw_all_positive(y + r * p->y_row, 4, 1);
}

static int are_plain(const tw_matmul_params *p, const float *c) {
  return p->inner > 0 && p->y_column == 1 && p->alpha == 1.0f && (!c || (p->beta == 1.0f && p->c_column == 1));
}

/* `count` blocks of four rows below each other. */
static void blocks_below(const work *k, int32_t row, int32_t column, int32_t count) {
  const int is_whole = k->p->columns - column >= 4 && are_plain(k->p, k->c);
  const int32_t whole = is_whole ? tw_min(count, (k->p->rows - row) >> 2) : 0;
  if (whole > 0) whole_blocks(k, row, column, whole);
  for (int32_t i = whole; i < count; i++) block(k, row + 4 * i, column);
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y) {
  const tw_matmul_params *const p = params;
  const int32_t rows = (p->rows + 3) >> 2, columns = (p->columns + 3) >> 2;
  int32_t batches = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) batches *= p->size[axis];
  const tw_share share = tw_share_of(batches * rows * columns);
  if (share.first >= share.end) return;
  int32_t number = share.first / (rows * columns), row = share.first - number * rows * columns;
  int32_t column = row / rows, left = share.end - share.first;
  row -= column * rows;
  tw_batch at;
  find_batch(p, number, &at);
  while (left > 0) {
    const work k = {p, a + at.a, b + at.b, c ? c + at.c : 0, y + at.y};
    const int32_t count = tw_min(left, rows - row);
    blocks_below(&k, 4 * row, 4 * column, count);
    left -= count;
    row = 0;
    if (++column < columns) continue;
    column = 0;
    if (left > 0) find_batch(p, ++number, &at);
  }
}
