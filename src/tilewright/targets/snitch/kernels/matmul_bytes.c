/* Matrix product of bytes, any way they lie; int32 totals, optionally requantised; all cores together. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_products.h"

enum { A_IS_SIGNED = (TW_A)-1 < 0, B_IS_SIGNED = (TW_B)-1 < 0 };

typedef struct {
  const tw_matmul_params *p;
  tw_byte_rooms rooms;
} work;

static void convert_b(const work *w, const TW_B *b) {
  const tw_matmul_params *const p = w->p;
  const tw_byte_rooms *const r = &w->rooms;
  const tw_share rows = tw_share_of(r->inner);
  for (int32_t row = rows.first; row < rows.end; row++) {
    uint32_t *const to = (uint32_t *)r->b + row * r->width;
    if (row >= p->inner) {
      for (int32_t i = 0; i < r->width; i++) ((volatile uint32_t *)to)[i] = 0;
      continue;
    }
    tw_make_floats((const uint8_t *)b + row * p->b_row, p->b_column, p->columns, (const uint32_t *)r->right, to);
    if (p->columns & 1) to[p->columns] = 0;
  }
}

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const work *const w = k->p;
  const tw_matmul_params *const p = w->p;
  const uint8_t *const from = (const uint8_t *)k->a + row * p->a_row + (k->before + first) * p->a_column;
  const int32_t there = tw_min(count, p->inner - k->before - first);
  tw_copy_bytes(from, p->a_column, there, (const uint32_t *)w->rooms.left, to);
  for (int32_t i = there; i < count; i++) tw_put(to + i, 0);
}

/* Results of this core's part. */
static void finish(const work *w, const tw_sums *k, const int32_t *c, const int32_t *mul,
                   const int32_t *add, TW_Y *y) {
  const int32_t none = 0;
  const tw_matmul_params *const p = w->p;
  const int32_t *const totals = tw_totals(&w->rooms);
  const int32_t origin = tw_origin(&w->rooms), width = w->rooms.width;
  const int32_t first = k->columns.first, count = tw_min(k->columns.end, p->columns) - first;
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const int32_t *const from = totals + row * width + first;
    const int32_t *const bias = c ? c + row * p->c_row + first * p->c_column : &none;
    const int32_t bias_step = c ? p->c_column : 0;
    TW_Y *const to = y + row * p->y_row + first * p->y_column;
    if (p->requantised) {
      const int32_t *const summand = add ? add + row * p->add_row + first * p->add_column : &none;
      const tw_scales s = {bias, mul + row * p->mul_row + first * p->mul_column, summand, bias_step, p->mul_column,
                        add ? p->add_column : 0};
      tw_scaled_row(from, origin, &s, &p->requant, to, p->y_column, count);
    } else {
      tw_plain_row(from, origin, bias, bias_step, to, p->y_column, count);
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = params;
  if (tw_batch_is_empty(p)) return;
  const int32_t largest = (int32_t)tw_largest_of_product(p, A_IS_SIGNED, B_IS_SIGNED);
  const work w = {p, tw_byte_rooms_in(scratch, p->rows, tw_max(p->inner, TW_LEAST), p->columns, largest)};
  const tw_byte_rooms *const r = &w.rooms;
  tw_sums k = {.p = &w, .b_row = r->width, .begin = r->origins, .y = r->sums, .y_row = r->width};
  tw_sums_cut(&k, p->rows, r->width, TW_BYTE_COPYING);
  tw_fill_table(r->left, A_IS_SIGNED, p->a_zero);
  tw_fill_table(r->right, B_IS_SIGNED, p->b_zero);
  tw_fill_origins(r);
  tw_barrier();
  tw_batch batch = {{0}, 0, 0, 0, 0};
  int32_t converted = -1;
  do {
    if (batch.b != converted) {
      if (converted >= 0) tw_barrier();
      converted = batch.b;
      convert_b(&w, b + converted);
      tw_barrier();
    }
    k.a = a + batch.a;
    tw_sum_groups(r, &k);
    finish(&w, &k, c ? c + batch.c : 0, mul, add, y + batch.y);
  } while (tw_batch_next(p, &batch));
}
