/* One row times a matrix of bytes that is stored column by column, in whole words; all columns are requantised alike. */
#ifndef TW_NAME
#define TW_NAME tw_matvec_strips
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "dots_row.h"
#include "small_matmul.h"

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  /* Strips of four columns; the last one of a matrix may overlap the one before. */
  const int32_t inner = p->inner, last = p->columns - 4, strips = (p->columns + 3) >> 2;
  const tw_dots_rows rows = {inner, 4 - 3 * inner, inner >> 2, 0, 0};
  const tw_share share = tw_share_of(p->batches * strips);
  int32_t next = share.first;
  for (; next >= strips; next -= strips) a += p->stride_a, b += p->stride_b, c += p->stride_c, y += p->stride_y;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const int32_t column = tw_x_min(4 * next, last);
    int32_t total[4] = {0, 0, 0, 0};
    if (p->c_column) {
      for (int f = 0; f < 4; f++) total[f] = c[column + f];
    }
    tw_dots_row(&rows, a, b + column * inner, total, TW_A_SIGNED, TW_B_SIGNED);
    for (int f = 0; f < 4; f++) total[f] = tw_small_finish_clipped(&s, total[f], TW_Y_SIGNED);
    tw_x_store(y + column, tw_x_pack4(total[0], total[1], total[2], total[3]));
    if (++next < strips) continue;
    next = 0;
    a += p->stride_a, b += p->stride_b, c += p->stride_c, y += p->stride_y;
  }
}
