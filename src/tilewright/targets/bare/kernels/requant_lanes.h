/* Many totals requantised at once, by vectors of integers of any length (Zve32x). Needs TW_Y; part of requant_row.h. */
#ifndef TW_REQUANT_LANES_H
#define TW_REQUANT_LANES_H

#include <riscv_vector.h>

TW_ALWAYS vint32m4_t tw_lanes_within(vint32m4_t value, int32_t low, int32_t high, size_t vl) {
  return __riscv_vmin_vx_i32m4(__riscv_vmax_vx_i32m4(value, low, vl), high, vl);
}

/* Where the lower word is 0 and nothing was shifted away, a total lies halfway: its result was rounded up. */
TW_ALWAYS vint32m4_t tw_lanes_far(const tw_requant *r, const tw_factor *f, vint32m4_t total, size_t vl) {
  const vint32m4_t sum = __riscv_vadd_vx_i32m4(__riscv_vmulh_vx_i32m4(total, f->mul, vl), f->addend, vl);
  const vint32m4_t value = __riscv_vsra_vx_i32m4(sum, (size_t)f->shift, vl);
  if (r->rounding == TW_HALF_UP) return tw_lanes_within(value, f->low, f->high, vl);
  const vint32m4_t lost = __riscv_vand_vx_i32m4(sum, (1 << f->shift) - 1, vl);
  const vint32m4_t lower = __riscv_vmul_vx_i32m4(total, f->mul, vl);
  const vbool8_t is_halfway = __riscv_vmseq_vx_i32m4_b8(__riscv_vor_vv_i32m4(lost, lower, vl), 0, vl);
  const vint32m4_t own = __riscv_vsub_vx_i32m4(value, r->zero_point, vl);
  const vbool8_t is_off = r->rounding == TW_HALF_EVEN
                              ? __riscv_vmsne_vx_i32m4_b8(__riscv_vand_vx_i32m4(own, 1, vl), 0, vl)
                              : __riscv_vmsle_vx_i32m4_b8(own, r->rounding == TW_HALF_AWAY ? 0 : INT32_MIN, vl);
  const vint32m4_t moved = __riscv_vsub_vx_i32m4_mu(__riscv_vmand_mm_b8(is_halfway, is_off, vl), value, value, 1, vl);
  return tw_lanes_within(moved, f->low, f->high, vl);
}

/* The first of the two roundings is that of vsmul. */
TW_ALWAYS vint32m4_t tw_lanes_twice(const tw_factor *f, vint32m4_t total, size_t vl) {
  const vint32m4_t product = __riscv_vsmul_vx_i32m4(total, f->mul, __RISCV_VXRM_RNU, vl);
  const vint32m4_t sum = __riscv_vadd_vv_i32m4(product, __riscv_vsra_vx_i32m4(product, 31, vl), vl);
  const vint32m4_t value = __riscv_vsra_vx_i32m4(__riscv_vadd_vx_i32m4(sum, f->addend, vl), (size_t)f->shift, vl);
  return tw_lanes_within(value, f->low, f->high, vl);
}

TW_ALWAYS vint32m4_t tw_lanes_once(const tw_factor *f, vint32m4_t total, size_t vl) {
  const vint32m4_t sum = __riscv_vadd_vx_i32m4(__riscv_vmulh_vx_i32m4(total, f->mul, vl), f->addend, vl);
  return tw_lanes_within(__riscv_vsra_vx_i32m4(sum, (size_t)f->shift, vl), f->low, f->high, vl);
}

TW_ALWAYS vint32m4_t tw_lanes_in_word(const tw_factor *f, vint32m4_t total, size_t vl) {
  const vint32m4_t sum = __riscv_vadd_vx_i32m4(__riscv_vmul_vx_i32m4(total, f->mul, vl), f->addend, vl);
  return tw_lanes_within(__riscv_vsra_vx_i32m4(sum, (size_t)f->shift, vl), f->low, f->high, vl);
}

/* Values that a result can hold. */
TW_ALWAYS void tw_lanes_store(vint32m4_t value, TW_Y *y, size_t vl) {
  if (sizeof(TW_Y) == 4) {
    __riscv_vse32_v_i32m4((int32_t *)(void *)y, value, vl);
    return;
  }
  const vint16m2_t halves = __riscv_vncvt_x_x_w_i16m2(value, vl);
  if (sizeof(TW_Y) == 2) {
    __riscv_vse16_v_i16m2((int16_t *)(void *)y, halves, vl);
  } else {
    __riscv_vse8_v_i8m1((int8_t *)(void *)y, __riscv_vncvt_x_x_w_i8m1(halves, vl), vl);
  }
}

/* By a way that is constant; TW_NEAR has products of 64 bits, which there are no vectors of. */
TW_ALWAYS void tw_requantise_lanes(tw_way way, const tw_requant *r, const tw_factor *f, const int32_t *total, TW_Y *y,
                                   int32_t count) {
  while (count > 0) {
    const size_t vl = __riscv_vsetvl_e32m4((size_t)count);
    const vint32m4_t own = __riscv_vle32_v_i32m4(total, vl);
    tw_lanes_store(way == TW_FAR     ? tw_lanes_far(r, f, own, vl)
                   : way == TW_TWICE ? tw_lanes_twice(f, own, vl)
                   : way == TW_ONCE  ? tw_lanes_once(f, own, vl)
                   : way == TW_WORD  ? tw_lanes_in_word(f, own, vl)
                                     : own,
                   y, vl);
    total += vl, y += vl, count -= (int32_t)vl;
  }
}

#endif
