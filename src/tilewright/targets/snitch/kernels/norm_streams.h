/* Norms of rows of floats: what a row is scaled with. */
#ifndef TW_NORM_STREAMS_H
#define TW_NORM_STREAMS_H

#include "row_norm.h"
#include "row_streams.h"

/* f12 = 1 / sqrt(f12 / ft6 + ft5), with 1 in ft3 and the row's length in ft6. */
static inline void tw_norm_factor(void) {
  __asm__ volatile("fdiv.s f12, f12, ft6\n fadd.s f12, f12, ft5\n fsqrt.s f12, f12\n fdiv.s f12, ft3, f12" : : : TW_ROW_REGISTERS);
}

static inline void tw_norm_constants(const tw_row_norm_params *p) {
  __asm__ volatile("fcvt.s.w ft3, %0\n fcvt.s.w ft6, %1\n flw ft5, 0(%2)" : : "r"(1), "r"(p->length), "r"(&p->epsilon)
                   : "ft3", "ft5", "ft6");
  __asm__ volatile("fcvt.d.w ft4, x0" : : : "ft4");
}

#define TW_EACH_FOUR(WHAT) WHAT("f8") WHAT("f9") WHAT("f10") WHAT("f11")
#define TW_LESS_MEAN(r) TW_VFSUB_R(r, "ft0", "ft4")
#define TW_TIMES_FACTOR(r) TW_VFMUL_R(r, r, "f12")
#define TW_READ_TIMES_FACTOR(r) TW_VFMUL_R(r, "ft0", "f12")
#define TW_TIMES_SCALE(r) TW_VFMUL(r, r, "ft1")
#define TW_WRITE_TIMES_SCALE(r) TW_VFMUL("ft2", r, "ft1")
#define TW_WRITE_PLUS_BIAS(r) TW_VFADD("ft2", r, "ft1")

/* Scales come from stream 1, and biases too, for as many pairs as are computed side by side. */
static inline void tw_scale_streams(const float *x, const float *scale, const float *bias, float *y, int32_t wide, int32_t turns) {
  const int32_t pairs = wide * turns, apart = (int32_t)((uintptr_t)bias - (uintptr_t)scale);
  tw_read_pairs(x, pairs);
  tw_stream_repeat(1, 1);
  if (bias) {
    tw_stream_loop(1, 0, wide, 8);
    tw_stream_loop(1, 1, 2, apart - 8 * (wide - 1));
    tw_stream_loop(1, 2, turns, 8 - apart);
    tw_stream_read(1, 3, scale);
  } else {
    tw_stream_loop(1, 0, pairs, 8);
    tw_stream_read(1, 1, scale);
  }
  tw_stream_repeat(2, 1);
  tw_stream_loop(2, 0, pairs, 8);
  tw_stream_write(2, 1, y);
}

#define TW_REPEATED(turns, count, TEXT) __asm__ volatile(TW_REPEAT("%0", count) TEXT : : "r"((turns) - 1) : TW_ROW_REGISTERS)

#endif
