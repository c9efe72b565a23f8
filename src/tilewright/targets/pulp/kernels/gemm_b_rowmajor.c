/* Many rows times matrices of few columns that are stored row by row, such as heads of an attention: each core transposes
 * the four columns that it works on. All results are requantised alike. */
#ifndef TW_NAME
#define TW_NAME tw_gemm_b_rowmajor
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "dots.h"
#include "pack8.h"
#include "small_matmul.h"
#include "small_matmul_sizes.h"

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

static inline void set_columns(tw_columns *columns, const tw_small_scale *s, int is_safe) {
  for (int f = 0; f < 4; f++) {
    columns->init[f] = 0;
    columns->mul[f] = s->mul;
    columns->add[f] = s->add;
  }
  columns->bound = s->bound;
  columns->shift = s->shift;
  columns->high = s->high;
  columns->mode = is_safe ? TW_SMALL : TW_CLIPPED;
  tw_columns_prepare(columns);
}

/* Rows in blocks of four; a last block that is not whole overlaps the one before. */
static inline void blocks(tw_dots *d, const uint8_t *a, int32_t row, int32_t end, uint8_t *y) {
  int32_t count = (end - row) >> 2;
  while (row < end) {
    d->a = a + row * d->rows.step;
    d->a_end = a + (row + 4 * count) * d->rows.step;
    d->y = y + row * d->y_step;
    tw_dots_blocks(d, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
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
  tw_columns columns;
  set_columns(&columns, &s, !c && (uint32_t)s.mul <= p->safe_mul);
  uint8_t *const packed = (uint8_t *)scratch + tw_core() * tw_own_columns(p);
  tw_dots d;
  tw_dots_length(&d, p->inner);
  d.b = packed, d.columns = &columns, d.y_step = p->y_row;
  /* Strips of four columns, and of those some or all blocks of rows. */
  const int32_t strips = (p->columns + 3) >> 2, parts = p->parts;
  const tw_share share = tw_share_of(p->batches * strips * parts);
  int32_t part = share.first, strip = tw_small_split(&part, parts), batch = tw_small_split(&strip, strips);
  const TW_B *current = 0;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const int32_t column = tw_x_min(4 * strip, p->columns - 4);
    const TW_B *const from = b + batch * p->stride_b + column;
    if (from != current) tw_pack_four((const uint8_t *)from, p->b_row, p->inner, packed, p->inner);
    current = from;
    if (c) {
      for (int f = 0; f < 4; f++) columns.init[f] = c[batch * p->stride_c + column + f];
    }
    const int32_t end = tw_x_min((part + 1) * p->part_rows, p->rows);
    blocks(&d, (const uint8_t *)(a + batch * p->stride_a), tw_x_min(part * p->part_rows, end - 4), end,
           (uint8_t *)(y + batch * p->stride_y + column));
    if (++part < parts) continue;
    part = 0;
    if (++strip < strips) continue;
    strip = 0;
    batch++;
  }
}
