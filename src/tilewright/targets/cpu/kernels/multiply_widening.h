/* Products of bytes by the vectors of RISC-V, whose registers may have any length: numbers of 16 bits are multiplied and
 * added to totals of 32. Four registers hold the totals of a row, or some of them; then the others follow.
 *
 * Weights are packed as [element][column], taps lie as they are in an image: [tap][channel]. */
#ifndef TW_MULTIPLY_WIDENING_H
#define TW_MULTIPLY_WIDENING_H

#include <riscv_vector.h>

#define TW_ROWS 7 /* their totals are 28 of 32 registers */

/* Columns from `c` on that one instruction takes: a register of bytes is four of totals. */
#define TW_EACH_PART(c, vl) for (size_t c = 0, vl; vl = __riscv_vsetvl_e32m4(TW_COLUMNS - c), c < TW_COLUMNS; c += vl)

/* Does something for every row below a constant count. */
#define TW_EACH_ROW(rows, DO) \
  DO(0)                       \
  if ((rows) > 1) DO(1)       \
  if ((rows) > 2) DO(2)       \
  if ((rows) > 3) DO(3)       \
  if ((rows) > 4) DO(4)       \
  if ((rows) > 5) DO(5)       \
  if ((rows) > 6) DO(6)

/* `vl` columns of some rows. */
TW_ALWAYS void tw_multiply_part(int rows, size_t vl, int32_t *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                int flip) {
  const int8_t *x0 = x[0], *x1 = x0, *x2 = x0, *x3 = x0, *x4 = x0, *x5 = x0, *x6 = x0;
  vint32m4_t t0 = __riscv_vle32_v_i32m4(t, vl), t1 = t0, t2 = t0, t3 = t0, t4 = t0, t5 = t0, t6 = t0;
#define TW_BEGIN(r) { x##r = x[r]; t##r = __riscv_vle32_v_i32m4(t + r * TW_COLUMNS, vl); }
#define TW_ADD(r) t##r = __riscv_vwmacc_vx_i32m4(t##r, (int8_t)(x##r[k] ^ flip), wide, vl);
#define TW_NEXT(r) x##r += 4;
#define TW_END(r) __riscv_vse32_v_i32m4(t + r * TW_COLUMNS, t##r, vl);
  TW_EACH_ROW(rows, TW_BEGIN)
  for (const int8_t *const end = x0 + count; x0 < end;) {
    TW_UNROLLED for (int k = 0; k < 4; k++, w += TW_COLUMNS) {
      const vint16m2_t wide = __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(w, vl), vl);
      TW_EACH_ROW(rows, TW_ADD)
      __asm__ volatile("" : : : "memory"); /* what the next products need is loaded then: registers are few */
    }
    TW_EACH_ROW(rows, TW_NEXT)
  }
  TW_EACH_ROW(rows, TW_END)
#undef TW_BEGIN
#undef TW_ADD
#undef TW_NEXT
#undef TW_END
}

/* Adds the products of `count` bytes of each row, a multiple of 4, to the totals; returns the weights that follow.
 * `flip` is 0x80 for unsigned bytes. */
TW_ALWAYS const int8_t *tw_multiply(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                    int flip) {
  TW_EACH_PART(c, vl) tw_multiply_part(rows, vl, t[0].v + c, x, count, w + c, flip);
  return w + (int64_t)count * TW_COLUMNS;
}

/* ---- taps ---- */

/* Four taps of two rows of channels. */
typedef struct {
  int8_t v[4][2 * TW_COLUMNS];
} tw_taps;

TW_ALWAYS tw_taps tw_taps_load(const int8_t *from) {
  tw_taps made;
  memcpy(made.v, from, sizeof made.v);
  return made;
}

/* Each of the two rows elsewhere. */
TW_ALWAYS void tw_taps_store(tw_taps taps, int8_t *first, int8_t *second) {
  for (int k = 0; k < 4; k++) {
    memcpy(first + k * TW_COLUMNS, taps.v[k], TW_COLUMNS);
    memcpy(second + k * TW_COLUMNS, taps.v[k] + TW_COLUMNS, TW_COLUMNS);
  }
}

/* Of TW_COLUMNS or twice as many channels. */
TW_ALWAYS tw_taps tw_taps_of(int halves, const int8_t *const *x, int flip) {
  tw_taps made;
  for (int k = 0; k < 4; k++) {
    for (int c = 0; c < halves * TW_COLUMNS; c++) made.v[k][c] = (int8_t)(x[k][c] ^ flip);
  }
  return made;
}

/* The same four bytes for all channels. */
TW_ALWAYS tw_taps tw_taps_same(const int8_t *four, int flip) {
  tw_taps made;
  for (int k = 0; k < 4; k++) memset(made.v[k], (uint8_t)(four[k] ^ flip), sizeof made.v[k]);
  return made;
}

TW_ALWAYS void tw_multiply_taps(int halves, tw_sums *t, const tw_taps *x, const tw_taps *w) {
  for (int h = 0; h < halves; h++) {
    TW_EACH_PART(c, vl) {
      vint32m4_t total = __riscv_vle32_v_i32m4(t[h].v + c, vl);
      for (int k = 0; k < 4; k++) {
        const vint8m1_t a = __riscv_vle8_v_i8m1(x->v[k] + h * TW_COLUMNS + c, vl);
        const vint8m1_t b = __riscv_vle8_v_i8m1(w->v[k] + h * TW_COLUMNS + c, vl);
        total = __riscv_vwadd_wv_i32m4(total, __riscv_vwmul_vv_i16m2(a, b, vl), vl);
      }
      __riscv_vse32_v_i32m4(t[h].v + c, total, vl);
    }
  }
}

/* ---- totals become bytes ---- */

/* Results without their zero point; 16 bits hold them, or they are the largest or smallest number of 16 bits. */
TW_ALWAYS vint16m2_t tw_scaled_part(tw_way way, vint32m4_t totals, vint32m4_t mul, vuint16m2_t exponents, size_t bits,
                                    size_t vl) {
  if (way == TW_NEAR_WAY || way == TW_HIGH_WAY) {
    return __riscv_vnclip_wx_i16m2(__riscv_vmulh_vv_i32m4(totals, mul, vl), bits, __RISCV_VXRM_RNU, vl);
  }
  vint32m4_t high = __riscv_vsmul_vv_i32m4(totals, mul, __RISCV_VXRM_RNU, vl);
  if (way == TW_NEAR_DOUBLE_WAY) high = __riscv_vadd_vv_i32m4(high, __riscv_vsra_vx_i32m4(high, 31, vl), vl);
  return __riscv_vnclip_wv_i16m2(high, exponents, __RISCV_VXRM_RNU, vl);
}

/* With the zero point, between bounds. */
TW_ALWAYS vint16m2_t tw_bounded_part(const tw_requant *r, vint16m2_t made, size_t vl) {
  made = __riscv_vsadd_vx_i16m2(made, (int16_t)r->zero_point, vl);
  made = __riscv_vmax_vx_i16m2(made, (int16_t)r->low, vl);
  return __riscv_vmin_vx_i16m2(made, (int16_t)r->high, vl);
}

TW_ALWAYS void tw_store_part(void *y, vint16m2_t made, size_t vl) {
  __riscv_vse8_v_i8m1(y, __riscv_vncvt_x_x_w_i8m1(made, vl), vl);
}

TW_ALWAYS vuint16m2_t tw_exponents_part(const int32_t *add, size_t vl) {
  const vint32m4_t bits = __riscv_vneg_v_i32m4(__riscv_vle32_v_i32m4(add, vl), vl);
  return __riscv_vncvt_x_x_w_u16m2(__riscv_vreinterpret_v_i32m4_u32m4(bits), vl);
}

/* Whether vectors go this way. A product is divided by 2^32 at least before it is rounded. */
TW_ALWAYS int tw_is_widened(tw_way way, const tw_requant *r, const int32_t *add) {
  if (way == TW_NEAR_WAY || way == TW_HIGH_WAY) return !add && r->shift > 32;
  return way == TW_NEAR_DOUBLE_WAY || way == TW_NEAR_DOUBLE_UP_WAY;
}

/* Rows of bytes from rows of totals with the same factors. */
TW_ALWAYS void tw_scale_widened(tw_way way, int rows, const tw_requant *r, const int32_t *mul, const int32_t *add,
                                const tw_sums *t, uint8_t *y, int64_t pitch) {
  const tw_requant requant = *r;
  TW_EACH_PART(c, vl) {
    const vint32m4_t factor = __riscv_vle32_v_i32m4(mul + c, vl);
    const vuint16m2_t exponents = add ? tw_exponents_part(add + c, vl) : __riscv_vmv_v_x_u16m2(0, vl);
    for (int row = 0; row < rows; row++) {
      const vint32m4_t totals = __riscv_vle32_v_i32m4(t[row].v + c, vl);
      const vint16m2_t made = tw_scaled_part(way, totals, factor, exponents, (size_t)requant.shift - 32, vl);
      tw_store_part(y + row * pitch + c, tw_bounded_part(&requant, made, vl), vl);
    }
  }
}

/* The same, and then bytes times `again` and what is added times a factor, with a summand. */
TW_ALWAYS void tw_scale_widened_twice(tw_way way, int rows, const tw_requant *r, const int32_t *mul, const int32_t *add,
                                      const tw_then *then, const int32_t *again, const int32_t *summand, int is_unsigned,
                                      const tw_sums *t, const uint8_t *added, uint8_t *y, int64_t pitch) {
  const tw_requant requant = *r, last = then->requant;
  const int32_t term = then->factor;
  TW_EACH_PART(c, vl) {
    const vint32m4_t factor = __riscv_vle32_v_i32m4(mul + c, vl);
    const vuint16m2_t exponents = add ? tw_exponents_part(add + c, vl) : __riscv_vmv_v_x_u16m2(0, vl);
    for (int row = 0; row < rows; row++) {
      const vint32m4_t totals = __riscv_vle32_v_i32m4(t[row].v + c, vl);
      const vint16m2_t scaled = tw_scaled_part(way, totals, factor, exponents, (size_t)requant.shift - 32, vl);
      const vint16m2_t bytes = tw_bounded_part(&requant, scaled, vl);
      vint32m4_t sum = __riscv_vle32_v_i32m4(summand + c, vl);
      sum = __riscv_vmacc_vv_i32m4(sum, __riscv_vle32_v_i32m4(again + c, vl), __riscv_vsext_vf2_i32m4(bytes, vl), vl);
      if (added) {
        const vuint8m1_t more = __riscv_vle8_v_u8m1(added + row * pitch + c, vl);
        const vint32m4_t wide = is_unsigned ? __riscv_vreinterpret_v_u32m4_i32m4(__riscv_vzext_vf4_u32m4(more, vl))
                                            : __riscv_vsext_vf4_i32m4(__riscv_vreinterpret_v_u8m1_i8m1(more), vl);
        sum = __riscv_vmacc_vx_i32m4(sum, term, wide, vl);
      }
      const vint16m2_t made = __riscv_vnclip_wx_i16m2(sum, (size_t)last.shift, __RISCV_VXRM_RNU, vl);
      tw_store_part(y + row * pitch + c, tw_bounded_part(&last, made, vl), vl);
    }
  }
}

#endif
