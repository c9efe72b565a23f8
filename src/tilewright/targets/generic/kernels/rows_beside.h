/* A walk over the rows of a tensor beside the rows of another that broadcasts with it. */
#ifndef TW_ROWS_BESIDE_H
#define TW_ROWS_BESIDE_H

#include "tw.h"

/* Strides are in elements, from one row to another: 0 where b is broadcast. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride_a[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
} tw_rows_beside;

/* The next row's offsets; 0 after the last. */
static inline int tw_next_rows(const tw_rows_beside *rows, int32_t *at, int32_t *a, int32_t *b) {
  for (int32_t axis = rows->rank - 1; axis >= 0; axis--) {
    *a += rows->stride_a[axis];
    *b += rows->stride_b[axis];
    if (++at[axis] < rows->size[axis]) return 1;
    *a -= rows->stride_a[axis] * rows->size[axis];
    *b -= rows->stride_b[axis] * rows->size[axis];
    at[axis] = 0;
  }
  return 0;
}

#endif
