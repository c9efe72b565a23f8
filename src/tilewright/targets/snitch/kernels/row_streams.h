/* Rows of floats, two at a time, that begin at multiples of 8 bytes: their sums, and what scales them. Sums are taken in four pairs of
 * chains, which are added in the end. Scalars are in the lower halves of registers. Between these functions there must be no
 * other code with floats. */
#ifndef TW_ROW_STREAMS_H
#define TW_ROW_STREAMS_H

#include "streams.h"
#include "tw.h"

#define TW_ROW_REGISTERS "ft0", "ft1", "ft2", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15", "memory"

/* The next instruction, in four registers in turn: d and a, or d alone, are counted on. */
#define TW_FOUR_TURNS(turns, instruction) ".insn i 0x0b, 3, x7, " turns ", 0\n" instruction
#define TW_FOUR_SUMS(turns, instruction) ".insn i 0x0b, 3, x3, " turns ", 0\n" instruction

#define TW_NO_SUMS "fcvt.d.w f8, x0\n fcvt.d.w f9, x0\n fcvt.d.w f10, x0\n fcvt.d.w f11, x0\n fcvt.d.w f12, x0\n"
#define TW_TOGETHER TW_VFADD("f8", "f8", "f9") TW_VFADD("f10", "f10", "f11") TW_VFADD("f8", "f8", "f10") TW_VFSUM("f12", "f8")

static inline void tw_read_pairs(const float *from, int32_t pairs) {
  tw_stream_repeat(0, 1);
  tw_stream_loop(0, 0, pairs, 8);
  tw_stream_read(0, 1, from);
}

/* What instructions for one float take: the upper half of its register has ones only. */
static inline void tw_one_float(void) {
  uint32_t bits;
  __asm__ volatile("fmv.x.w %0, f12\n fmv.w.x f12, %0" : "=r"(bits) : : "f12");
}

/* f12 = the sum of a row. */
static inline void tw_row_sum(const float *x, int32_t pairs) {
  __asm__ volatile(TW_NO_SUMS : : : TW_ROW_REGISTERS);
  tw_read_pairs(x, pairs);
  tw_streams_on();
  __asm__ volatile(TW_FOUR_TURNS("%0", TW_VFADD("f8", "f8", "ft0")) TW_TOGETHER : : "r"(pairs - 1) : TW_ROW_REGISTERS);
  tw_streams_off();
  tw_one_float();
}

/* f12 = the sum of its squares. An instruction that names a stream twice takes one element. */
static inline void tw_row_squares(const float *x, int32_t pairs) {
  __asm__ volatile(TW_NO_SUMS : : : TW_ROW_REGISTERS);
  tw_read_pairs(x, pairs);
  tw_streams_on();
  __asm__ volatile(TW_FOUR_SUMS("%0", TW_VFMAC("f8", "ft0", "ft0")) TW_TOGETHER : : "r"(pairs - 1) : TW_ROW_REGISTERS);
  tw_streams_off();
  tw_one_float();
}

/* f12 = the sum of (x - ft4)^2. Four pairs at a time, then one. */
static inline void tw_row_squares_around(const float *x, int32_t pairs) {
  const int32_t fours = pairs >> 2, rest = pairs & 3;
  __asm__ volatile(TW_NO_SUMS : : : TW_ROW_REGISTERS);
  tw_read_pairs(x, pairs);
  tw_streams_on();
  if (fours) {
    __asm__ volatile(TW_REPEAT("%0", 8) TW_VFSUB_R("f12", "ft0", "ft4") TW_VFSUB_R("f13", "ft0", "ft4") TW_VFSUB_R("f14", "ft0", "ft4")
                     TW_VFSUB_R("f15", "ft0", "ft4") TW_VFMAC("f8", "f12", "f12") TW_VFMAC("f9", "f13", "f13")
                     TW_VFMAC("f10", "f14", "f14") TW_VFMAC("f11", "f15", "f15") : : "r"(fours - 1) : TW_ROW_REGISTERS);
  }
  if (rest) {
    __asm__ volatile(TW_REPEAT("%0", 2) TW_VFSUB_R("f12", "ft0", "ft4") TW_VFMAC("f8", "f12", "f12") : : "r"(rest - 1) : TW_ROW_REGISTERS);
  }
  __asm__ volatile("fcvt.d.w f12, x0\n" TW_TOGETHER : : : TW_ROW_REGISTERS);
  tw_streams_off();
  tw_one_float();
}

/* f12 = the largest one of a row. */
static inline void tw_row_largest(const float *x, int32_t pairs, float *two) {
  __asm__ volatile("fld f8, 0(%0)" : : "r"(x) : TW_ROW_REGISTERS);
  tw_read_pairs(x, pairs);
  tw_streams_on();
  __asm__ volatile(TW_REPEAT("%0", 1) TW_VFMAX("f8", "f8", "ft0") : : "r"(pairs - 1) : TW_ROW_REGISTERS);
  tw_streams_off();
  __asm__ volatile("fsd f8, 0(%0)\n flw f8, 0(%0)\n flw f9, 4(%0)\n fmax.s f12, f8, f9" : : "r"(two) : TW_ROW_REGISTERS);
}

/* y = x * f12 */
static inline void tw_row_scaled(const float *x, float *y, int32_t pairs) {
  tw_read_pairs(x, pairs);
  tw_stream_repeat(2, 1);
  tw_stream_loop(2, 0, pairs, 8);
  tw_stream_write(2, 1, y);
  tw_streams_on();
  __asm__ volatile(TW_REPEAT("%0", 1) TW_VFMUL_R("ft2", "ft0", "f12") : : "r"(pairs - 1) : TW_ROW_REGISTERS);
  tw_streams_off_written();
}

#endif
