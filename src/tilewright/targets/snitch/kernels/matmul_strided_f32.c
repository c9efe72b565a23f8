/* Matrix product of floats, any way they lie; all cores together. The second factor is written down with columns side by side, and
 * results come from the working memory to their places. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_strided_f32
#endif

#include "float_copies.h"
#include "stream_sums.h"

typedef struct {
  const tw_matmul_params *p;
  float *turned, *sums;
  int32_t width; /* columns, an even number */
} work;

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const tw_matmul_params *const p = ((const work *)k->p)->p;
  const int32_t there = tw_min(count, p->inner - first);
  tw_copy_row_twice((const uint32_t *)k->a + row * p->a_row + first * p->a_column, p->a_column, there, to);
  for (int32_t i = there; i < count; i++) tw_put(to + i, 0);
}

static void turn(const work *w, const uint32_t *b, tw_share rows) {
  const tw_matmul_params *const p = w->p;
  for (int32_t row = rows.first; row < rows.end; row++) {
    uint32_t *const to = (uint32_t *)w->turned + row * w->width;
    if (row >= p->inner) {
      for (int32_t i = 0; i < w->width; i++) ((volatile uint32_t *)to)[i] = 0;
      continue;
    }
    tw_copy_apart(b + row * p->b_row, p->b_column, to, 1, p->columns);
    if (p->columns & 1) ((volatile uint32_t *)to)[p->columns] = 0;
  }
}

/* Whether sums may begin with a row of c as it lies. */
static int begins_with(const tw_matmul_params *p, const float *c) {
  return c && p->beta == 1.0f && p->alpha == 1.0f && p->c_column == 1 && ((p->c_row | p->columns) & 1) == 0 && tw_can_stream(c, c, c);
}

static TW_COMPACT void place_scaled(const tw_matmul_params *p, const float *from, const float *c, int32_t c_step, float *y, int32_t count) {
  const float alpha = p->alpha, beta = p->beta, least = p->activation.kind ? 0.0f : -__builtin_inff();
  for (int32_t i = 0; i < count; i++, y += p->y_column) {
    const float scaled = alpha * from[i] + (c ? beta * c[i * c_step] : 0.0f);
    *y = __builtin_fmaxf(scaled, least);
  }
}

/* Results of this core's part; `c` is what is still to be added. */
static void place(const work *w, const tw_sums *k, const float *c, float *y) {
  const tw_matmul_params *const p = w->p;
  const int32_t first = k->columns.first, count = tw_min(k->columns.end, p->columns) - first;
  const int is_done = !c && p->alpha == 1.0f;
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const float *const from = w->sums + row * w->width + first;
    float *const to = y + row * p->y_row + first * p->y_column;
    if (is_done) {
      tw_copy_apart((const uint32_t *)from, 1, (uint32_t *)to, p->y_column, count);
    } else {
      place_scaled(p, from, c ? c + row * p->c_row + first * p->c_column : 0, p->c_column, to, count);
    }
  }
}

/* One product, when its second factor is there. */
static void multiply(const work *w, tw_sums *k, const float *c, float *y) {
  const tw_matmul_params *const p = w->p;
  const int begins = begins_with(p, c);
  k->begin = begins ? c : 0;
  k->is_positive = p->activation.kind && p->alpha == 1.0f && (begins || !c);
  tw_sum_up(k);
  place(w, k, begins ? 0 : c, y);
}

static void all_together(const work *w, tw_sums *k, const float *a, const float *b, const float *c, float *y) {
  const tw_matmul_params *const p = w->p;
  tw_batch batch = {{0}, 0, 0, 0, 0};
  int32_t last = -1;
  tw_sums_cut(k, p->rows, w->width, TW_FLOAT_COPYING);
  do {
    if (batch.b != last) {
      if (last >= 0) tw_barrier();
      last = batch.b;
      turn(w, (const uint32_t *)b + last, tw_share_of(k->inner));
      tw_barrier();
    }
    k->a = a + batch.a;
    multiply(w, k, c ? c + batch.c : 0, y + batch.y);
  } while (tw_batch_next(p, &batch));
}

static void one_each(const work *w, tw_sums *k, int32_t matrices, const float *a, const float *b, const float *c, float *y) {
  const tw_matmul_params *const p = w->p;
  const tw_share own = tw_share_of(matrices), inner = {0, k->inner};
  tw_batch batch = {{0}, 0, 0, 0, 0};
  k->rows = (tw_share){0, p->rows};
  k->columns = (tw_share){0, w->width};
  for (int32_t number = 0; number < own.end; number++, tw_batch_next(p, &batch)) {
    if (number < own.first) continue;
    turn(w, (const uint32_t *)b + batch.b, inner);
    k->a = a + batch.a;
    multiply(w, k, c ? c + batch.c : 0, y + batch.y);
  }
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y, void *scratch) {
  const tw_matmul_params *const p = params;
  if (tw_batch_is_empty(p)) return;
  const int32_t width = tw_even(p->columns), inner = tw_max(p->inner, TW_LEAST), elements = (inner + p->rows) * width;
  const int32_t matrices = (int32_t)tw_matrices(p);
  const int is_one_each = tw_is_one_each(matrices, elements);
  float *const turned = (float *)scratch + (is_one_each ? tw_core() * elements : 0), *const sums = turned + inner * width;
  const work w = {p, turned, sums, width};
  tw_sums k = {.p = &w, .b = turned, .b_row = width, .begin_row = p->c_row, .y = sums, .y_row = width, .inner = inner};
  tw_sums_copies(&k, inner, (float *)scratch + (is_one_each ? TW_CORES : 1) * elements);
  if (is_one_each) {
    one_each(&w, &k, matrices, a, b, c, y);
  } else {
    all_together(&w, &k, a, b, c, y);
  }
}
