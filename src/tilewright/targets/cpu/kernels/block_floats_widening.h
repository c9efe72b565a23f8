/* Products with weights that are floats of 16 bits by the vectors of RISC-V: a weight becomes a float for some rows at
 * once. */
#ifndef TW_BLOCK_FLOATS_WIDENING_H
#define TW_BLOCK_FLOATS_WIDENING_H

#include "any_length.h"
#include "block_lanes.h"
#include "block_product.h"

#define TW_SOME_ROWS 6 /* their sums are 24 of 32 registers */

/* `vl` columns of some rows, of which every row is added up in the same order among others. */
TW_INLINE void tw_float_part(const int rows, const tw_block_product_params *p, const uint8_t *w, const float *x,
                             const float *bias, size_t vl, float *y) {
  vfloat32m4_t s0 = __riscv_vfmv_v_f_f32m4(0.0f, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
#define TW_ADD(r) s##r = __riscv_vfmacc_vf_f32m4(s##r, x[(int64_t)r * p->inner + k], weight, vl);
#define TW_END(r) {                                                                                   \
    if (bias) s##r = __riscv_vfadd_vv_f32m4(s##r, __riscv_vle32_v_f32m4(bias, vl), vl);               \
    __riscv_vse32_v_f32m4(y + (int64_t)r * p->columns, s##r, vl);                                     \
  }
  for (int32_t k = 0; k < p->inner; k++, w += 2 * TW_PANEL) {
    const vfloat32m4_t weight = TW_WEIGHTS_PART(w, vl);
    TW_EACH_OF_SIX(rows, TW_ADD)
  }
  TW_EACH_OF_SIX(rows, TW_END)
#undef TW_ADD
#undef TW_END
}

static void tw_float_rows(int32_t rows, const tw_block_product_params *p, const uint8_t *w, const float *x,
                          const float *bias, size_t vl, float *y) {
  switch (rows) {
    case TW_SOME_ROWS: tw_float_part(TW_SOME_ROWS, p, w, x, bias, vl, y); return;
    case 2: tw_float_part(2, p, w, x, bias, vl, y); return;
    default: tw_float_part(1, p, w, x, bias, vl, y); return;
  }
}

void TW_NAME(const tw_block_product_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const tw_share_of_product share = tw_own_share(params, (params->columns + TW_PANEL - 1) / TW_PANEL);
  const int32_t last = tw_min(params->columns, share.last_panel * TW_PANEL);
  (void)scratch;
  for (int32_t column = share.first_panel * TW_PANEL, vl; column < last; column += vl) {
    const int32_t in_panel = column % TW_PANEL, left = tw_min(TW_PANEL - in_panel, last - column);
    const uint8_t *const own = w + (int64_t)(column / TW_PANEL) * params->panel_bytes + 2 * in_panel;
    vl = (int32_t)__riscv_vsetvl_e32m4((size_t)left);
    for (int32_t row = share.first_row, count; row < share.last_row; row += count) {
      count = share.last_row - row >= TW_SOME_ROWS ? TW_SOME_ROWS : share.last_row - row >= 2 ? 2 : 1;
      tw_float_rows(count, params, own, x + (int64_t)row * params->inner, bias ? bias + column : NULL, (size_t)vl,
                    y + (int64_t)row * params->columns + column);
    }
  }
}

#endif
