/* Products with weights in blocks by the vectors of RISC-V: levels are unpacked as they come, for some rows at once. Levels
 * of 4 bits are multiplied by bytes and 16 products are summed in 16 bits; others have 16 bits, and sums of 32. */
#ifndef TW_BLOCK_WIDENING_H
#define TW_BLOCK_WIDENING_H

#include "any_length.h"
#include "block_layout.h"
#include "block_product.h"
#include "block_rows.h"

#define TW_SOME_ROWS 6 /* their totals are 24 of 32 registers */
#if TW_BITS == 8
#define TW_LEVEL_ZERO 0
#else
#define TW_LEVEL_ZERO TW_ZERO
#endif

/* Sums are in registers then, and nothing that they need is kept for later: registers are few. */
#define TW_NOW(a, b, c, d, e, f) \
  __asm__ volatile("" : "+vr"(a), "+vr"(b), "+vr"(c), "+vr"(d), "+vr"(e), "+vr"(f) : : "memory");

/* What the levels of a block are multiplied with, and what is added to it. */
typedef struct {
  float scale[2][TW_PANEL], least[TW_PANEL];
} tw_block_scales;

TW_INLINE vfloat32m4_t tw_unsigned_part(const uint8_t *at, size_t vl) {
  return __riscv_vfwcvt_f_xu_v_f32m4(__riscv_vzext_vf2_u16m2(__riscv_vle8_v_u8m1(at, vl), vl), vl);
}

TW_INLINE vfloat32m4_t tw_signed_part(const uint8_t *at, size_t vl) {
  return __riscv_vfwcvt_f_x_v_f32m4(__riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1((const void *)at, vl), vl), vl);
}

/* Of `vl` rows of weights from where `scales` begins. */
TW_INLINE void tw_block_scales_of(const uint8_t *scales, int32_t block, int32_t first, size_t vl, tw_block_scales *s) {
#if TW_IS_SUPER
  const uint8_t *const of_eight = scales + (block >> 3) * TW_SCALE_BYTES;
  const uint8_t *const own = of_eight + (2 * (TW_HAS_LEAST + 1) + 2 * (block & 7)) * TW_PANEL + first;
  const vfloat32m4_t all = tw_halves_part(of_eight + 2 * first, vl);
#if TW_HALVES_APART
  __riscv_vse32_v_f32m4(s->scale[0], __riscv_vfmul_vv_f32m4(all, tw_signed_part(own, vl), vl), vl);
  __riscv_vse32_v_f32m4(s->scale[1], __riscv_vfmul_vv_f32m4(all, tw_signed_part(own + TW_PANEL, vl), vl), vl);
#else
  __riscv_vse32_v_f32m4(s->scale[1], __riscv_vfmul_vv_f32m4(all, tw_unsigned_part(own, vl), vl), vl);
  const vfloat32m4_t least = __riscv_vfneg_v_f32m4(tw_halves_part(of_eight + 2 * (TW_PANEL + first), vl), vl);
  __riscv_vse32_v_f32m4(s->least, __riscv_vfmul_vv_f32m4(least, tw_unsigned_part(own + TW_PANEL, vl), vl), vl);
#endif
#else
  const uint8_t *const own = scales + block * TW_SCALE_BYTES + 2 * first;
  __riscv_vse32_v_f32m4(s->scale[1], tw_halves_part(own, vl), vl);
  if (TW_HAS_LEAST) __riscv_vse32_v_f32m4(s->least, tw_halves_part(own + 2 * TW_PANEL, vl), vl);
#endif
}

/* Adds the totals of a row, of the first or the last half of a block or of all of it, to its sums. */
TW_INLINE void tw_add_totals(vint32m4_t total, int half, int row, int rows, const tw_block_scales *s,
                             const uint8_t *record, float *sums, size_t vl) {
  const float own = tw_of_row(record, rows, TW_SCALE_OF_ROW, row);
  const vfloat32m4_t scale = __riscv_vfmul_vf_f32m4(__riscv_vle32_v_f32m4(s->scale[half], vl), own, vl);
  vfloat32m4_t sum = __riscv_vle32_v_f32m4(sums, vl);
  sum = __riscv_vfmacc_vv_f32m4(sum, __riscv_vfcvt_f_x_v_f32m4(total, vl), scale, vl);
  if (half && TW_HAS_LEAST) {
    const float weighted = tw_of_row(record, rows, TW_SUM_OF_ROW, row);
    sum = __riscv_vfmacc_vf_f32m4(sum, weighted, __riscv_vle32_v_f32m4(s->least, vl), vl);
  }
  __riscv_vse32_v_f32m4(sums, sum, vl);
}

#if TW_BITS == 4

/* Levels up to 15 times bytes down to -128, 16 times: 16 bits hold it. */
TW_INLINE void tw_widened_block(int rows, const uint8_t *levels, const tw_block_scales *s, const uint8_t *record,
                                float (*sums)[TW_PANEL], size_t vl) {
  const int8_t *const x = (const int8_t *)record;
#define TW_DECLARE(r) vint16m2_t low##r = __riscv_vmv_v_x_i16m2(0, vl), high##r = low##r;
  TW_DECLARE(0) TW_DECLARE(1) TW_DECLARE(2) TW_DECLARE(3) TW_DECLARE(4) TW_DECLARE(5)
#define TW_ADD(r) low##r = __riscv_vwmacc_vx_i16m2(low##r, x[4 * (i * rows + r) + c], front, vl);
#define TW_ADD_BACK(r) high##r = __riscv_vwmacc_vx_i16m2(high##r, x[4 * ((4 + i) * rows + r) + c], back, vl);
#define TW_END(r) {                                                                                 \
    vint32m4_t total = __riscv_vwadd_vv_i32m4(low##r, high##r, vl);                                 \
    total = __riscv_vadd_vx_i32m4(total, tw_less_of_row(record, rows, TW_FIRST_OF_ROW, r), vl);     \
    tw_add_totals(total, 1, r, rows, s, record, sums[r], vl);                                       \
  }
  TW_UNROLL for (int i = 0; i < 4; i++) {
    TW_UNROLL for (int c = 0; c < 4; c++, levels += TW_PANEL) {
      const vuint8m1_t both = __riscv_vle8_v_u8m1(levels, vl);
      const vint8m1_t front = __riscv_vreinterpret_v_u8m1_i8m1(__riscv_vand_vx_u8m1(both, 15, vl));
      TW_EACH_OF_SIX(rows, TW_ADD)
      const vint8m1_t back = __riscv_vreinterpret_v_u8m1_i8m1(__riscv_vsrl_vx_u8m1(both, 4, vl));
      TW_EACH_OF_SIX(rows, TW_ADD_BACK)
      TW_NOW(low0, low1, low2, low3, low4, low5)
      TW_NOW(high0, high1, high2, high3, high4, high5)
    }
  }
  TW_EACH_OF_SIX(rows, TW_END)
#undef TW_DECLARE
#undef TW_ADD
#undef TW_ADD_BACK
#undef TW_END
}

#else

/* One element of a half of a block: the `c`th of four `i`. */
TW_INLINE vint16m2_t tw_level_part(const uint8_t *levels, int half, int i, int c, size_t vl) {
#if TW_BITS == 8
  return __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1((const void *)(levels + (16 * half + 4 * i + c) * TW_PANEL), vl), vl);
#else
  const vuint8m1_t both = __riscv_vle8_v_u8m1(levels + (4 * i + c) * TW_PANEL, vl);
  const vuint8m1_t low = half ? __riscv_vsrl_vx_u8m1(both, 4, vl) : __riscv_vand_vx_u8m1(both, 15, vl);
#if TW_BITS == 5
  const int left = half ? -i : 4 - i, mask = 16;
  const vuint8m1_t upper = __riscv_vle8_v_u8m1(levels + (16 + c) * TW_PANEL, vl);
#else
  const int left = 4 - 2 * i, mask = 48;
  const vuint8m1_t upper = __riscv_vle8_v_u8m1(levels + (16 + 4 * half + c) * TW_PANEL, vl);
#endif
  const vuint8m1_t there = left > 0 ? __riscv_vsll_vx_u8m1(upper, (size_t)left, vl)
                                    : __riscv_vsrl_vx_u8m1(upper, (size_t)-left, vl);
  const vuint8m1_t whole = __riscv_vor_vv_u8m1(low, __riscv_vand_vx_u8m1(there, mask, vl), vl);
  return __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vzext_vf2_u16m2(whole, vl));
#endif
}

TW_INLINE void tw_widened_block(int rows, const uint8_t *levels, const tw_block_scales *s, const uint8_t *record,
                                float (*sums)[TW_PANEL], size_t vl) {
  const int8_t *const x = (const int8_t *)record;
  vint32m4_t t0 = __riscv_vmv_v_x_i32m4(0, vl), t1 = t0, t2 = t0, t3 = t0, t4 = t0, t5 = t0;
#define TW_BEGIN(r) t##r = __riscv_vmv_v_x_i32m4(tw_less_of_row(record, rows, kind, r), vl);
#define TW_ADD(r) t##r = __riscv_vwmacc_vx_i32m4(t##r, x[4 * ((4 * half + i) * rows + r) + c], level, vl);
#define TW_END(r) tw_add_totals(t##r, half, r, rows, s, record, sums[r], vl);
  TW_UNROLL for (int half = 0; half < 2; half++) {
    const int kind = half ? TW_SECOND_OF_ROW : TW_FIRST_OF_ROW;
    if (!half || TW_HALVES_APART) {
      TW_EACH_OF_SIX(rows, TW_BEGIN)
    }
    TW_UNROLL for (int i = 0; i < 4; i++) {
      TW_UNROLL for (int c = 0; c < 4; c++) {
        const vint16m2_t level = tw_level_part(levels, half, i, c, vl);
        TW_EACH_OF_SIX(rows, TW_ADD)
        TW_NOW(t0, t1, t2, t3, t4, t5)
      }
    }
    if (half || TW_HALVES_APART) {
      TW_EACH_OF_SIX(rows, TW_END)
    }
  }
#undef TW_BEGIN
#undef TW_ADD
#undef TW_END
}

#endif

/* Some rows and `columns` of a panel. */
TW_INLINE void tw_some_rows(const int rows, const tw_block_product_params *p, const uint8_t *panel,
                            const uint8_t *records, const float *bias, int32_t columns, float *y) {
  const int32_t blocks = p->inner / TW_ROUNDED_BLOCK;
  tw_block_scales s;
  float sums[TW_SOME_ROWS][TW_PANEL];
  for (int32_t c = 0, vl; c < columns; c += vl) {
    vl = (int32_t)__riscv_vsetvl_e32m4((size_t)(columns - c));
    const uint8_t *levels = panel + tw_scales_bytes(blocks) + c;
    memset(sums, 0, sizeof sums);
    for (int32_t block = 0; block < blocks; block++, levels += TW_LEVEL_BYTES) {
      tw_block_scales_of(panel, block, c, (size_t)vl, &s);
      tw_widened_block(rows, levels, &s, records + (int64_t)block * TW_ROW_BLOCK_BYTES * rows, sums, (size_t)vl);
    }
    for (int32_t row = 0; row < rows; row++) {
      for (int32_t j = 0; j < vl; j++) y[(int64_t)row * p->columns + c + j] = sums[row][j] + (bias ? bias[c + j] : 0.0f);
    }
  }
}

static void tw_panel_of_rows(int32_t rows, const tw_block_product_params *p, const uint8_t *panel, const uint8_t *records,
                             const float *bias, int32_t columns, float *y) {
  switch (rows) {
    case TW_SOME_ROWS: tw_some_rows(TW_SOME_ROWS, p, panel, records, bias, columns, y); return;
    case 2: tw_some_rows(2, p, panel, records, bias, columns, y); return;
    default: tw_some_rows(1, p, panel, records, bias, columns, y); return;
  }
}

/* Rows that are side by side, of those that are left. */
static inline int32_t tw_rows_together(int32_t left) { return left >= TW_SOME_ROWS ? TW_SOME_ROWS : left >= 2 ? 2 : 1; }

static void tw_round_some(const tw_block_product_params *p, const float *x, int32_t rows, uint8_t *records) {
  const int64_t row_bytes = (int64_t)p->inner / TW_ROUNDED_BLOCK * TW_ROW_BLOCK_BYTES;
  for (int32_t row = 0, count; row < rows; row += count) {
    count = tw_rows_together(rows - row);
    tw_round_rows(x + (int64_t)row * p->inner, p->inner, count, TW_LEVEL_ZERO, TW_HALVES_APART, records + row * row_bytes);
  }
}

/* Rows that were rounded, and a panel: its weights are read once from memory, and then from a cache. */
static void tw_rounded_times_panel(const tw_block_product_params *p, int32_t rows, const uint8_t *records,
                                   const uint8_t *panel, const float *bias, int32_t columns, float *y) {
  const int64_t row_bytes = (int64_t)p->inner / TW_ROUNDED_BLOCK * TW_ROW_BLOCK_BYTES;
  for (int32_t row = 0, count; row < rows; row += count) {
    count = tw_rows_together(rows - row);
    tw_panel_of_rows(count, p, panel, records + row * row_bytes, bias, columns, y + (int64_t)row * p->columns);
  }
}

void TW_NAME(const tw_block_product_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const tw_share_of_product share = tw_own_share(params, (params->columns + TW_PANEL - 1) / TW_PANEL);
  const int32_t most = tw_rows_at_a_time(params->inner);
  for (int32_t row = share.first_row; row < share.last_row; row += most) {
    const int32_t rows = tw_min(most, share.last_row - row);
    tw_round_some(params, x + (int64_t)row * params->inner, rows, scratch);
    for (int32_t panel = share.first_panel; panel < share.last_panel; panel++) {
      const int32_t column = panel * TW_PANEL, columns = tw_min(TW_PANEL, params->columns - column);
      tw_rounded_times_panel(params, rows, scratch, w + (int64_t)panel * params->panel_bytes,
                             bias ? bias + column : NULL, columns, y + (int64_t)row * params->columns + column);
    }
  }
}

#endif
