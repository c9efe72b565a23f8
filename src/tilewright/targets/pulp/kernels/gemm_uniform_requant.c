/* Products of rows with rows, whole words along the sum, that all become results by one factor and one summand: a core comes
 * to its first product at once, and what blocks need lies in L1, where the stack may not. */
#ifndef TW_NAME
#define TW_NAME tw_gemm_uniform_requant
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "dots_alike.h"
#include "small_matmul.h"
#include "small_matmul_sizes.h"

#ifdef __riscv
TW_ASSERT_SIZE(tw_alike, TW_ALIKE_BYTES);
#endif

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

static inline void set_scale(tw_alike *d, const tw_small_scale *s, int is_safe) {
  d->less = s->mul - 1;
  d->add = s->add;
  d->shift = s->shift;
  d->high = s->high;
  d->bound = is_safe ? 0 : s->bound;
}

static inline void set_rows(tw_alike *d, int32_t length, int32_t y_row) {
  d->step = length;
  d->back = 4 - 3 * length;
  d->more = (length >> 2) - 1;
  d->advance = 3 * length;
  d->y_row = y_row;
}

/* Rows in blocks of four; a last block that is not whole overlaps the one before. */
static inline void some_strips(tw_alike *d, const TW_A *a, const TW_B *b, TW_Y *y, int32_t row, int32_t end, int32_t strips) {
  int32_t count = (end - row) >> 2;
  while (row < end) {
    d->a = a + row * d->step;
    d->a_end = a + (row + 4 * count) * d->step;
    d->b = b;
    d->y = y + row * d->y_row;
    d->strips = strips;
    tw_alike_strips(d, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
    row += 4 * count;
    if (row < end) row = end - 4;
    count = 1;
  }
}

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  tw_alike *const d = (tw_alike *)scratch + tw_core();
  set_scale(d, &s, (uint32_t)s.mul <= p->safe_mul);
  set_rows(d, p->inner, p->y_row);
  /* Strips of four columns: all rows of several, or some of one. */
  const int32_t strips = p->columns >> 2, parts = p->parts;
  const tw_share share = tw_share_of(p->batches * strips * parts);
  int32_t part = share.first, strip = tw_small_split(&part, parts), batch = tw_small_split(&strip, strips);
  for (int32_t left = share.end - share.first; left > 0;) {
    const int32_t taken = parts == 1 ? tw_x_min(left, strips - strip) : 1;
    const int32_t end = tw_x_min((part + 1) * p->part_rows, p->rows);
    some_strips(d, a + batch * p->stride_a, b + batch * p->stride_b + 4 * strip * p->inner,
                y + batch * p->stride_y + 4 * strip, tw_x_min(part * p->part_rows, end - 4), end, taken);
    left -= taken;
    if (++part < parts) continue;
    part = 0;
    strip += taken;
    if (strip < strips) continue;
    strip = 0;
    batch++;
  }
}
