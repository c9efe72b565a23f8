/* Dot products of four bytes whose signs, and clips to bytes whose sign, are known when a kernel is compiled: assembly
 * takes them as constants %[dot] and %[clip]. */
#ifndef TW_DOT_H
#define TW_DOT_H

#include "xpulp.h"

#if TW_XPULP

#define TW_A_DOT(t, a, b) ".insn r " TW_E_DOT_OPCODE ", 1, %[dot], " t ", " a ", " b "\n"
#define TW_A_DOT_SWAPPED(t, a, b) TW_A_DOT(t, b, a)
#define TW_A_DOT_FIRST(t, a, b) ".insn r " TW_E_DOT_OPCODE ", 1, %[first], " t ", " a ", " b "\n" /* without the old t */
#define TW_A_DOT_FIRST_SWAPPED(t, a, b) TW_A_DOT_FIRST(t, b, a)

#if defined(TW_COREV)
#define TW_E_DOT_OPCODE "0x7b"
#define TW_I_DOT_SS 0x54
#define TW_I_DOT_US 0x50
#define TW_I_DOT_UU 0x4c
#define TW_I_FIRST_SS 0x48
#define TW_I_FIRST_US 0x44
#define TW_I_FIRST_UU 0x40
#define TW_A_CLIP_BYTE(t, high) ".insn r 0x2b, 3, %[clip], " t ", " t ", " high "\n"
#define TW_I_CLIP 0x3a
#define TW_I_CLIPU 0x3b
#else
#define TW_E_DOT_OPCODE "0x57"
#define TW_I_DOT_SS 0x5c
#define TW_I_DOT_US 0x54
#define TW_I_DOT_UU 0x50
#define TW_I_FIRST_SS 0x4c
#define TW_I_FIRST_US 0x44
#define TW_I_FIRST_UU 0x40
#define TW_A_CLIP_BYTE(t, high) ".insn r 0x33, %[clip], 0x0a, " t ", " t ", " high "\n"
#define TW_I_CLIP 5
#define TW_I_CLIPU 6
#endif

#define TW_I_DOT(a_signed, b_signed) \
  ((a_signed) && (b_signed) ? TW_I_DOT_SS : !(a_signed) && !(b_signed) ? TW_I_DOT_UU : TW_I_DOT_US)
#define TW_I_FIRST(a_signed, b_signed) \
  ((a_signed) && (b_signed) ? TW_I_FIRST_SS : !(a_signed) && !(b_signed) ? TW_I_FIRST_UU : TW_I_FIRST_US)

#endif

/* Word `a` of unsigned or signed bytes times word b. */
static inline int32_t tw_dot(int32_t total, uint32_t a, uint32_t b, int a_signed, int b_signed) {
  if (a_signed && b_signed) return tw_x_sdotsp4(total, a, b);
  if (!a_signed && !b_signed) return tw_x_sdotup4(total, a, b);
  return a_signed ? tw_x_sdotusp4(total, b, a) : tw_x_sdotusp4(total, a, b);
}

/* The same without a total. */
static inline int32_t tw_dot_alone(int32_t a, int32_t b, int a_signed, int b_signed) {
  if (a_signed && b_signed) return tw_x_dotsp4(a, b);
  if (!a_signed && !b_signed) return tw_x_dotup4(a, b);
  return a_signed ? tw_x_dotusp4(b, a) : tw_x_dotusp4(a, b);
}

#endif
