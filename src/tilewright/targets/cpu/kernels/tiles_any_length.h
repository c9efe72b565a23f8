/* Tiles of rows and a panel on RISC-V, whose vector registers may have any length: four registers hold the sums of a row,
 * or some of them; then the panel's other columns follow. */
#ifndef TW_TILES_ANY_LENGTH_H
#define TW_TILES_ANY_LENGTH_H

#include <riscv_vector.h>

/* x, but no less than low and no more than high; NaN stays NaN. */
TW_INLINE vfloat32m4_t tw_bounded_part(const tw_bounds *bounds, vfloat32m4_t x, size_t vl) {
  if (bounds->raises) x = __riscv_vfmerge_vfm_f32m4(x, bounds->low, __riscv_vmflt_vf_f32m4_b8(x, bounds->low, vl), vl);
  if (bounds->lowers) x = __riscv_vfmerge_vfm_f32m4(x, bounds->high, __riscv_vmfgt_vf_f32m4_b8(x, bounds->high, vl), vl);
  return x;
}

/* Does something for every row below a constant count. */
#define TW_EACH_ROW(rows, DO) \
  DO(0)                       \
  if ((rows) > 1) DO(1)       \
  if ((rows) > 2) DO(2)       \
  if ((rows) > 3) DO(3)       \
  if ((rows) > 4) DO(4)       \
  if ((rows) > 5) DO(5)       \
  if ((rows) > 6) DO(6)

/* `vl` columns from `column` on. */
TW_INLINE void tw_tile_part(const int rows, size_t vl, const float *const *row, const tw_parts *parts, const float *panel,
                            int64_t step, const tw_tile_end *end, size_t column) {
  const int64_t y_row = end->y_row;
  const int32_t length = parts->length;
  float *const y = end->y + column;
  vfloat32m4_t s0 = __riscv_vle32_v_f32m4(end->bias ? end->bias + column : y, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0,
               s5 = s0, s6 = s0;
#define TW_BEGIN(r) s##r = __riscv_vle32_v_f32m4(y + r * y_row, vl);
#define TW_FIND(r) x##r = row[r] + at;
#define TW_ADD(r) s##r = __riscv_vfmacc_vf_f32m4(s##r, x##r[k], w, vl);
#define TW_END(r) __riscv_vse32_v_f32m4(y + r * y_row, tw_bounded_part(&bounds, s##r, vl), vl);
  if (!end->bias) {
    TW_EACH_ROW(rows, TW_BEGIN)
  }
  for (int32_t part = 0; part < parts->count; part++) {
    const int64_t at = parts->at[part];
    const float *x0 = row[0], *x1 = x0, *x2 = x0, *x3 = x0, *x4 = x0, *x5 = x0, *x6 = x0;
    TW_EACH_ROW(rows, TW_FIND)
#pragma clang loop unroll_count(4)
    for (int32_t k = 0; k < length; k++, panel += step) {
      const vfloat32m4_t w = __riscv_vle32_v_f32m4(panel, vl);
      TW_EACH_ROW(rows, TW_ADD)
    }
  }
  const tw_bounds bounds = end->bounds;
  TW_EACH_ROW(rows, TW_END)
#undef TW_BEGIN
#undef TW_FIND
#undef TW_ADD
#undef TW_END
}

TW_INLINE void tw_tile_any_length(const int rows, const float *const *row, const tw_parts *parts, const float *panel,
                                  int64_t step, const tw_tile_end *end) {
  const size_t columns = (size_t)end->columns;
  for (size_t c = 0, vl; vl = __riscv_vsetvl_e32m4(columns - c), c < columns; c += vl) {
    tw_tile_part(rows, vl, row, parts, panel + c, step, end, c);
  }
}

#endif
