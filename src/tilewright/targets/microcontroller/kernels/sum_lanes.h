/* Sums of products by vectors of integers of any length (Zve32x): lanes are neighbouring pixels, or taps. Needs TW_X. */
#ifndef TW_SUM_LANES_H
#define TW_SUM_LANES_H

#include <riscv_vector.h>

#include "always.h"
#include "filter_block.h"

/* The most pixels of which totals wait to be requantised. */
#define TW_MOST_LANES 64

TW_ALWAYS size_t tw_lanes_of(int32_t pixels) {
  return __riscv_vsetvl_e32m4((size_t)(pixels < TW_MOST_LANES ? pixels : TW_MOST_LANES));
}

/* Elements `stride` apart, as halves of a word. */
TW_ALWAYS vint16m2_t tw_lanes_load(const TW_X *x, int32_t stride, size_t vl) {
  const int8_t *const at = (const int8_t *)x;
  const vint8m1_t bytes = stride == 1 ? __riscv_vle8_v_i8m1(at, vl) : __riscv_vlse8_v_i8m1(at, stride, vl);
  if ((TW_X)-1 < 0) return __riscv_vsext_vf2_i16m2(bytes, vl);
  return __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vzext_vf2_u16m2(__riscv_vreinterpret_v_i8m1_u8m1(bytes), vl));
}

/* Totals of four filters with as many pixels as there are lanes. */
typedef int32_t tw_lane_totals[TW_BLOCK][TW_MOST_LANES];

/* Taps are where `offset` says if they are listed, or `step` elements apart. */
TW_ALWAYS void tw_lanes_products(const TW_X *x, int is_listed, const int32_t *offset, int32_t step, int32_t stride, const int8_t *w,
                                 int32_t taps, const int32_t *start, tw_lane_totals total, size_t vl) {
  vint32m4_t s0 = __riscv_vmv_v_x_i32m4(start[0], vl), s1 = __riscv_vmv_v_x_i32m4(start[1], vl);
  vint32m4_t s2 = __riscv_vmv_v_x_i32m4(start[2], vl), s3 = __riscv_vmv_v_x_i32m4(start[3], vl);
#pragma GCC unroll 2
  for (const int8_t *const end = w + TW_BLOCK * taps; w != end; w += TW_BLOCK) {
    const vint16m2_t v = tw_lanes_load(is_listed ? x + *offset++ : x, stride, vl);
    s0 = __riscv_vwmacc_vx_i32m4(s0, w[0], v, vl);
    s1 = __riscv_vwmacc_vx_i32m4(s1, w[1], v, vl);
    s2 = __riscv_vwmacc_vx_i32m4(s2, w[2], v, vl);
    s3 = __riscv_vwmacc_vx_i32m4(s3, w[3], v, vl);
    x += is_listed ? 0 : step;
  }
  __riscv_vse32_v_i32m4(total[0], s0, vl);
  __riscv_vse32_v_i32m4(total[1], s1, vl);
  __riscv_vse32_v_i32m4(total[2], s2, vl);
  __riscv_vse32_v_i32m4(total[3], s3, vl);
}

TW_ALWAYS int32_t tw_lanes_sum(vint32m4_t lanes, int32_t start) {
  const size_t all = __riscv_vsetvlmax_e32m4();
  const vint32m1_t first = __riscv_vmv_v_x_i32m1(start, 1);
  return __riscv_vmv_x_s_i32m1_i32(__riscv_vredsum_vs_i32m4_i32m1(lanes, first, all));
}

/* Totals of four filters with one pixel: lanes are taps, whose weights come apart by filters. */
TW_ALWAYS void tw_lanes_dots(const TW_X *x, const int8_t *w, int32_t taps, const int32_t *start, int32_t *total) {
  const size_t all = __riscv_vsetvlmax_e32m4();
  vint32m4_t s0 = __riscv_vmv_v_x_i32m4(0, all), s1 = s0, s2 = s0, s3 = s0;
  while (taps > 0) {
    const size_t vl = __riscv_vsetvl_e32m4((size_t)taps);
    const vint16m2_t v = tw_lanes_load(x, 1, vl);
    const vint8m1x4_t four = __riscv_vlseg4e8_v_i8m1x4(w, vl);
#define TW_FILTER_LANES(n) \
  s##n = __riscv_vwmacc_vv_i32m4_tu(s##n, v, __riscv_vsext_vf2_i16m2(__riscv_vget_v_i8m1x4_i8m1(four, n), vl), vl)
    TW_FILTER_LANES(0);
    TW_FILTER_LANES(1);
    TW_FILTER_LANES(2);
    TW_FILTER_LANES(3);
#undef TW_FILTER_LANES
    x += vl, w += TW_BLOCK * vl, taps -= (int32_t)vl;
  }
  total[0] = tw_lanes_sum(s0, start[0]), total[1] = tw_lanes_sum(s1, start[1]);
  total[2] = tw_lanes_sum(s2, start[2]), total[3] = tw_lanes_sum(s3, start[3]);
}

#endif
