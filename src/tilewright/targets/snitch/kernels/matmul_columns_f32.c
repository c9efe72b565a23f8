/* Matrix product of floats whose factor b and result have columns side by side; all cores together. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_columns_f32
#endif

#include "float_copies.h"
#include "stream_sums.h"

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const tw_matmul_params *const p = k->p;
  tw_copy_row_twice((const uint32_t *)k->a + row * p->a_row + first * p->a_column, p->a_column, count, to);
}

/* One matrix whose columns do not begin at multiples of 8 bytes. */
static TW_COMPACT void one_by_one(const tw_matmul_params *p, const float *a, const float *b, const float *c, float *y) {
  const tw_share rows = tw_share_of(p->rows);
  for (int32_t row = rows.first; row < rows.end; row++) {
    for (int32_t column = 0; column < p->columns; column++) {
      float sum = c ? c[row * p->c_row + column] : 0.0f;
      for (int32_t i = 0; i < p->inner; i++) sum += a[row * p->a_row + i * p->a_column] * b[i * p->b_row + column];
      y[row * p->y_row + column] = p->activation.kind && sum < 0.0f ? 0.0f : sum;
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y, void *scratch) {
  const tw_matmul_params *const p = params;
  if (tw_batch_is_empty(p)) return;
  tw_sums k = {.p = p, .b_row = p->b_row, .begin_row = p->c_row, .y_row = p->y_row, .inner = p->inner,
               .is_positive = p->activation.kind};
  tw_sums_copies(&k, p->inner, scratch);
  tw_sums_cut(&k, p->rows, p->columns, TW_FLOAT_COPYING);
  tw_batch batch = {{0}, 0, 0, 0, 0};
  do {
    k.a = a + batch.a;
    k.b = b + batch.b;
    k.begin = c ? c + batch.c : 0;
    k.y = y + batch.y;
    if (tw_can_stream(k.b, k.y, k.begin)) {
      tw_sum_up(&k);
    } else {
      one_by_one(p, k.a, k.b, k.begin, k.y);
    }
  } while (tw_batch_next(p, &batch));
}
