/* Lines of assembly for loops that take the bytes of a word one by one, and make a word of four results. Whether bytes
 * are signed is known when a kernel is compiled: lines take the name of a constant TW_I_BYTE(is_signed). */
#ifndef TW_LANES_H
#define TW_LANES_H

#include "dot.h"

#if TW_XPULP

#if defined(TW_COREV)
#define TW_A_LANE(sign, odd, d, word, pair) ".insn r 0x7b, %[" sign "], 0x5c + " odd ", " d ", " word ", " pair "\n"
#define TW_I_BYTE(is_signed) ((is_signed) ? 1 : 3)
#else
#define TW_A_LANE(sign, odd, d, word, pair) ".insn r 0x57, 7, %[" sign "] + " odd ", " d ", " word ", " pair "\n"
#define TW_I_BYTE(is_signed) ((is_signed) ? 0x3c : 0x48)
#endif

/* d0 to d3 = the bytes of a word; d3 may be the word itself. */
#define TW_A_BYTES(sign, word, d0, d1, d2, d3)                                                    \
  TW_A_LANE(sign, "0", d0, word, "x0") TW_A_LANE(sign, "1", d1, word, "x0")                       \
  TW_A_LANE(sign, "0", d2, word, "x1") TW_A_LANE(sign, "1", d3, word, "x1")

/* d = entry `index` of a table of bytes, and the word `offset` bytes from its start. */
#define TW_A_BYTE_AT(d, table, index) TW_A_R(TW_E_LBU_AT, d, table, index)
#define TW_A_WORD_AT(d, table, offset) TW_A_R(TW_E_LW_AT, d, table, offset)

/* DO of each of four registers. */
#define TW_A_FOUR(DO, d0, d1, d2, d3) DO(d0) DO(d1) DO(d2) DO(d3)

/* Four bytes become the word d0. */
#define TW_A_PACK4(d0, d1, d2, d3) TW_A_R(TW_E_PACKLO4, d0, d1, d0) TW_A_R(TW_E_PACKHI4, d0, d3, d2)

#endif

#endif
