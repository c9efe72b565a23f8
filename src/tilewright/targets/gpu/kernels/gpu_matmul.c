/* y = alpha * a @ b + beta * c, a and b stored either way; integers wrap around and may be requantised. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_matmul
#define TW_A float
#define TW_B float
#define TW_C float
#define TW_Y float
#define TW_A_IS_FLOAT 1
#endif

#include "gpu_stored.h"
#include "gpu_totals.h"
#include "matmul.h"

typedef tw_matmul_params tw_params;
typedef struct {
  const TW_A *a;
  const TW_B *b;
  const TW_C *c;
  const int32_t *mul, *add;
  TW_Y *y;
} tw_pointers;

static inline int32_t rows_of(const tw_params *p) { return p->rows; }
static inline int32_t inner_of(const tw_params *p) { return p->inner; }
static inline int32_t columns_of(const tw_params *p) { return p->columns; }
static inline int left_along_k(const tw_params *p) { return p->a_column == 1; }
static inline int right_along_k(const tw_params *p) { return p->b_row == 1; }

static inline int32_t batch_of(const tw_params *p) {
  int32_t matrices = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) matrices *= p->size[axis];
  return matrices;
}

/* Where a matrix of the batch begins. */
static inline int32_t start_of(const tw_params *p, const int32_t *stride, int32_t batch) {
  int32_t offset = 0;
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    offset += batch % p->size[axis] * stride[axis];
    batch /= p->size[axis];
  }
  return offset;
}

static inline total_t left(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t k) {
  return TW_CENTRED(TW_A_LOAD(at->a[start_of(p, p->stride_a, batch) + row * p->a_row + k * p->a_column]), p->a_zero);
}

static inline total_t right(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t k, int32_t column) {
  return TW_CENTRED(TW_B_LOAD(at->b[start_of(p, p->stride_b, batch) + k * p->b_row + column * p->b_column]), p->b_zero);
}

static inline TW_Y finished(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t column,
                            total_t total) {
#if TW_A_IS_FLOAT
  float value = p->alpha * total;
  if (at->c) {
    value += p->beta * TW_C_LOAD(at->c[start_of(p, p->stride_c, batch) + row * p->c_row + column * p->c_column]);
  }
  tw_activate(&p->activation, &value, 1, 1);
  return TW_Y_STORE(value);
#else
  if (at->c) total += (total_t)at->c[start_of(p, p->stride_c, batch) + row * p->c_row + column * p->c_column];
  if (!p->requantised) return (TW_Y)total;
  const int32_t summand = at->add ? at->add[row * p->add_row + column * p->add_column] : 0;
  const int32_t factor = at->mul[row * p->mul_row + column * p->mul_column];
  return (TW_Y)tw_requantise(&p->requant, (int32_t)(uint32_t)total, factor, summand);
#endif
}

static inline void store(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t column,
                         total_t total) {
  at->y[start_of(p, p->stride_y, batch) + row * p->y_row + column * p->y_column] =
      finished(p, at, batch, row, column, total);
}

#include "gpu_product.h"

static inline tw_grid grid(const tw_params *params) { return tw_product_grid(params); }

TW_GPU void group(const tw_params *params, const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_pointers at = {a, b, c, mul, add, y};
  tw_product(params, &at);
}

TW_GPU_KERNEL(tw_matmul_params,
              (const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul, const int32_t *add, TW_Y *y),
              (a, b, c, mul, add, y))
