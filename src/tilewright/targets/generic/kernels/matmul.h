/* Parameters of matrix products: y[rows, columns] = alpha * a @ b + beta * c, repeated over a batch. */
#ifndef TW_MATMUL_H
#define TW_MATMUL_H

#include "activation.h"
#include "requant.h"
#include "tw.h"

typedef struct {
  int32_t rank; /* loops over the batch, each with its size and the strides of a, b, c and y */
  int32_t size[TW_MAX_RANK];
  int32_t stride_a[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
  int32_t stride_c[TW_MAX_RANK];
  int32_t stride_y[TW_MAX_RANK];
  int32_t rows, inner, columns;
  int32_t a_row, a_column; /* elements from row to row and from column to column */
  int32_t b_row, b_column;
  int32_t y_row, y_column;
  int32_t c_row, c_column; /* 0 where c is the same for all rows or columns; so for mul and add */
  int32_t mul_row, mul_column;
  int32_t add_row, add_column;
  float alpha, beta;
  int32_t a_zero, b_zero; /* the integers that stand for zero */
  int32_t requantised;    /* whether accumulators are requantised */
  tw_requant requant;
  tw_activation activation; /* of floats */
} tw_matmul_params;

/* Where the current matrices of a batch begin. */
typedef struct {
  int32_t at[TW_MAX_RANK];
  int32_t a, b, c, y;
} tw_batch;

static inline int tw_batch_is_empty(const tw_matmul_params *p) {
  for (int32_t axis = 0; axis < p->rank; axis++) {
    if (p->size[axis] == 0) return 1;
  }
  return 0;
}

/* Moves on to the next matrices; 0 after the last. */
static inline int tw_batch_next(const tw_matmul_params *p, tw_batch *batch) {
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    batch->a += p->stride_a[axis];
    batch->b += p->stride_b[axis];
    batch->c += p->stride_c[axis];
    batch->y += p->stride_y[axis];
    if (++batch->at[axis] < p->size[axis]) return 1;
    batch->a -= p->stride_a[axis] * p->size[axis];
    batch->b -= p->stride_b[axis] * p->size[axis];
    batch->c -= p->stride_c[axis] * p->size[axis];
    batch->y -= p->stride_y[axis] * p->size[axis];
    batch->at[axis] = 0;
  }
  return 0;
}

/* y = alpha * total + beta * c for some columns of a row; c may be absent. */
static inline void tw_matmul_store_f32(const tw_matmul_params *p, const float *c, int32_t row, int32_t column,
                                       const float *total, float *y, int32_t count) {
  const float alpha = p->alpha, beta = p->beta;
  if (!c) {
    for (int32_t i = 0; i < count; i++) y[i] = alpha * total[i];
    return;
  }
  const int32_t step = p->c_column;
  const float *from = c + row * p->c_row + column * step;
  for (int32_t i = 0; i < count; i++) y[i] = alpha * total[i] + beta * from[i * step];
}

#endif
