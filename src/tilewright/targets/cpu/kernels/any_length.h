/* What kernels for the vectors of RISC-V share, whose registers may have any length: four of them hold what a row makes
 * of some columns of a panel; then its others follow. */
#ifndef TW_ANY_LENGTH_H
#define TW_ANY_LENGTH_H

#include <riscv_vector.h>

#include "vectors.h"

/* Does something for every row below a constant count. */
#define TW_EACH_OF_SIX(rows, DO) \
  DO(0)                          \
  if ((rows) > 1) DO(1)          \
  if ((rows) > 2) DO(2)          \
  if ((rows) > 3) DO(3)          \
  if ((rows) > 4) DO(4)          \
  if ((rows) > 5) DO(5)

/* Floats of 16 bits. Without instructions for it their bits become those of a float, 2^112 times too small. */
TW_INLINE vfloat32m4_t tw_halves_part(const uint8_t *at, size_t vl) {
#ifdef __riscv_zvfhmin
  return __riscv_vfwcvt_f_f_v_f32m4(__riscv_vle16_v_f16m2((const void *)at, vl), vl);
#else
  const vuint32m4_t bits = __riscv_vzext_vf2_u32m4(__riscv_vle16_v_u16m2((const void *)at, vl), vl);
  const vuint32m4_t size = __riscv_vsll_vx_u32m4(__riscv_vand_vx_u32m4(bits, 0x7fff, vl), 13, vl);
  const vuint32m4_t sign = __riscv_vsll_vx_u32m4(__riscv_vand_vx_u32m4(bits, 0x8000, vl), 16, vl);
  return __riscv_vfmul_vf_f32m4(__riscv_vreinterpret_v_u32m4_f32m4(__riscv_vor_vv_u32m4(size, sign, vl)), 0x1p112f, vl);
#endif
}

/* The upper halves of floats. */
TW_INLINE vfloat32m4_t tw_upper_part(const uint8_t *at, size_t vl) {
  const vuint32m4_t bits = __riscv_vzext_vf2_u32m4(__riscv_vle16_v_u16m2((const void *)at, vl), vl);
  return __riscv_vreinterpret_v_u32m4_f32m4(__riscv_vsll_vx_u32m4(bits, 16, vl));
}

#endif
