/* The same by the vectors of RISC-V: eight registers hold a block where they have 128 bits. */
#ifndef TW_BLOCK_ROWS_WIDENING_H
#define TW_BLOCK_ROWS_WIDENING_H

#include <riscv_vector.h>

TW_INLINE int32_t tw_sum_of_bytes(vint8m2_t bytes, size_t count) {
  const vint16m1_t none = __riscv_vmv_s_x_i16m1(0, 1);
  return __riscv_vmv_x_s_i16m1_i16(__riscv_vwredsum_vs_i8m2_i16m1(bytes, none, count));
}

TW_INLINE float tw_bytes_of_block(const float *x, int row, int rows, int apart, uint8_t *record, int32_t *sum) {
  const size_t all = TW_ROUNDED_BLOCK, half = all / 2;
  const vfloat32m8_t v = __riscv_vle32_v_f32m8(x, all);
  const vuint32m8_t sizes = __riscv_vand_vx_u32m8(__riscv_vreinterpret_v_f32m8_u32m8(v), 0x7fffffff, all);
  const vuint32m1_t none = __riscv_vmv_s_x_u32m1(0, 1);
  const uint32_t bits = __riscv_vmv_x_s_u32m1_u32(__riscv_vredmaxu_vs_u32m8_u32m1(sizes, none, all));
  float most;
  memcpy(&most, &bits, sizeof most);
  const float inverse = tw_rounded_inverse(most);
  vint8m2_t bytes = __riscv_vmv_v_x_i8m2(0, all);
  if (inverse > 0.0f) {
    const vint32m8_t whole = __riscv_vfcvt_x_f_v_i32m8(__riscv_vfmul_vf_f32m8(v, inverse, all), all);
    bytes = __riscv_vncvt_x_x_w_i8m2(__riscv_vncvt_x_x_w_i16m4(whole, all), all);
  }
  uint8_t *const to = record + 4 * row;
  __riscv_vsse32_v_i32m2((void *)to, 4 * rows, __riscv_vreinterpret_v_i8m2_i32m2(bytes), all / 4);
  const int32_t total = tw_sum_of_bytes(bytes, all);
  sum[0] = apart ? tw_sum_of_bytes(bytes, half) : total;
  sum[1] = total - sum[0];
  return most;
}

#endif
