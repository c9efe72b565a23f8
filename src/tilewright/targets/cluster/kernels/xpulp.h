/* Instructions of the cores that C does not know: SIMD dot products, multiply-accumulate, clipping, post-increment
 * loads and hardware loops. XpulpV2 by default, the CORE-V encodings with -DTW_COREV, plain C on any other processor.
 *
 * Functions tw_x_... are single instructions. Strings TW_A_... are lines for inline assembly, for whole loops. */
#ifndef TW_XPULP_H
#define TW_XPULP_H

#include <stdint.h>

#if defined(__riscv)
#define TW_XPULP 1
#else
#define TW_XPULP 0
#endif

/* ---- encodings: opcode, funct3 and funct7 of an instruction with two source registers ---- */

#if defined(TW_COREV)
#define TW_E_SDOTSP4 "0x7b, 1, 0x54"
#define TW_E_SDOTUSP4 "0x7b, 1, 0x50"
#define TW_E_SDOTUP4 "0x7b, 1, 0x4c"
#define TW_E_SDOTSP2 "0x7b, 0, 0x54"
#define TW_E_DOTSP4 "0x7b, 1, 0x48"
#define TW_E_DOTSP2 "0x7b, 0, 0x48"
#define TW_E_DOTUSP4 "0x7b, 1, 0x44"
#define TW_E_DOTUP4 "0x7b, 1, 0x40"
#define TW_E_MAC "0x2b, 3, 0x48"
#define TW_E_CLIP "0x2b, 3, 0x3a"
#define TW_E_CLIPU "0x2b, 3, 0x3b"
#define TW_E_MIN "0x2b, 3, 0x2b"
#define TW_E_MAX "0x2b, 3, 0x2d"
#define TW_E_FF1 "0x2b, 3, 0x21"
#define TW_E_FL1 "0x2b, 3, 0x22"
#define TW_E_ADDN "0x2b, 3, 0x40"
#define TW_E_SHUFFLE4 "0x7b, 1, 0x60"
#define TW_E_SHUFFLE2_4 "0x7b, 1, 0x70"
#define TW_E_MAX4 "0x7b, 1, 0x18"
#define TW_E_MAXU4 "0x7b, 1, 0x1c"
#define TW_E_MINU4 "0x7b, 1, 0x14"
#define TW_E_MIN4 "0x7b, 1, 0x10"
#define TW_E_SUB4 "0x7b, 1, 0x04"
#define TW_E_ABS4 "0x7b, 1, 0x38"
#define TW_E_ADD4 "0x7b, 1, 0x00"
#define TW_E_ADD2 "0x7b, 0, 0x00"
#define TW_E_PACKLO4 "0x7b, 1, 0x7c"
#define TW_E_PACKHI4 "0x7b, 1, 0x7d"
#define TW_E_EXTRACT "0x7b, 1, 0x5c"
#define TW_E_EXTRACT_ODD "0x7b, 1, 0x5d"
#define TW_E_EXTRACTU "0x7b, 3, 0x5c"
#define TW_E_EXTRACTU_ODD "0x7b, 3, 0x5d"
#define TW_E_INSERT "0x7b, 5, 0x5c"
#define TW_E_INSERT_ODD "0x7b, 5, 0x5d"
#define TW_E_LW_AT "0x2b, 3, 0x06"
#define TW_E_LBU_AT "0x2b, 3, 0x0c"
#define TW_E_LW_STEP "0x2b, 3, 0x02"
#define TW_E_SW_STEP "0x2b, 3, 0x12"
#define TW_E_SB_STEP "0x2b, 3, 0x10"
#define TW_E_MULSR16 "0x5b, 4, 0x50"
#define TW_E_MULS "0x5b, 4, 0x00"
#define TW_E_MULU16 "0x5b, 5, 0x10"
#define TW_I_LW "0x0b, 2"
/* The end of a CORE-V loop is the address behind its body, in words. */
#define TW_A_LOOP(count, instructions) ".insn i 0x2b, 4, x14, " count ", " #instructions " + 1\n"
#define TW_A_OUTER_LOOP(count, instructions) ".insn i 0x2b, 4, x15, " count ", " #instructions " + 1\n"
#else
#define TW_E_SDOTSP4 "0x57, 1, 0x5c"
#define TW_E_SDOTUSP4 "0x57, 1, 0x54"
#define TW_E_SDOTUP4 "0x57, 1, 0x50"
#define TW_E_SDOTSP2 "0x57, 0, 0x5c"
#define TW_E_DOTSP4 "0x57, 1, 0x4c"
#define TW_E_DOTSP2 "0x57, 0, 0x4c"
#define TW_E_DOTUSP4 "0x57, 1, 0x44"
#define TW_E_DOTUP4 "0x57, 1, 0x40"
#define TW_E_MAC "0x33, 0, 0x21"
#define TW_E_CLIP "0x33, 5, 0x0a"
#define TW_E_CLIPU "0x33, 6, 0x0a"
#define TW_E_MIN "0x33, 4, 0x02"
#define TW_E_MAX "0x33, 6, 0x02"
#define TW_E_FF1 "0x33, 0, 0x08"
#define TW_E_FL1 "0x33, 1, 0x08"
#define TW_E_ADDN "0x5b, 2, 0x20"
#define TW_E_SHUFFLE4 "0x57, 1, 0x60"
#define TW_E_SHUFFLE2_4 "0x57, 1, 0x64"
#define TW_E_MAX4 "0x57, 1, 0x18"
#define TW_E_MAXU4 "0x57, 1, 0x1c"
#define TW_E_MINU4 "0x57, 1, 0x14"
#define TW_E_MIN4 "0x57, 1, 0x10"
#define TW_E_SUB4 "0x57, 1, 0x04"
#define TW_E_ABS4 "0x57, 1, 0x38"
#define TW_E_ADD4 "0x57, 1, 0x00"
#define TW_E_ADD2 "0x57, 0, 0x00"
#define TW_E_PACKLO4 "0x57, 1, 0x70"
#define TW_E_PACKHI4 "0x57, 1, 0x6c"
#define TW_E_EXTRACT "0x57, 7, 0x3c"
#define TW_E_EXTRACT_ODD "0x57, 7, 0x3d"
#define TW_E_EXTRACTU "0x57, 7, 0x48"
#define TW_E_EXTRACTU_ODD "0x57, 7, 0x49"
#define TW_E_INSERT "0x57, 7, 0x58"
#define TW_E_INSERT_ODD "0x57, 7, 0x59"
#define TW_E_LW_AT "0x03, 7, 0x10"
#define TW_E_LBU_AT "0x03, 7, 0x20"
#define TW_E_LW_STEP "0x0b, 7, 0x10"
#define TW_E_SW_STEP "0x2b, 6, 0x00"
#define TW_E_SB_STEP "0x2b, 4, 0x00"
#define TW_E_MULSR16 "0x5b, 4, 0x50"
#define TW_E_MULS "0x5b, 0, 0x40"
#define TW_E_MULU16 "0x5b, 0, 0x10"
#define TW_I_LW "0x0b, 2"
/* The end of an XpulpV2 loop is the address of its last instruction, in halfwords. */
#define TW_A_LOOP(count, instructions) ".insn i 0x7b, 4, x0, " count ", 2 * " #instructions "\n"
#define TW_A_OUTER_LOOP(count, instructions) ".insn i 0x7b, 4, x1, " count ", 2 * " #instructions "\n"
#endif

/* ---- lines of inline assembly; TW_A_BEGIN keeps instructions at four bytes, as hardware loops need them ---- */

#define TW_A_BEGIN ".option push\n.option norvc\n.balign 4\n"
#define TW_A_END ".option pop\n"
#define TW_A_R(encoding, d, a, b) ".insn r " encoding ", " d ", " a ", " b "\n"
#define TW_A_LW_STEP(d, base, step) TW_A_R(TW_E_LW_STEP, d, base, step) /* d = *base; base += step (a register) */
#define TW_A_LW(d, base, step) ".insn i " TW_I_LW ", " d ", " base ", " step "\n" /* the same with a constant step */
#define TW_A_SW(d, base, step) ".insn s 0x2b, 2, " d ", " step "(" base ")\n"     /* *base = d; base += step */
#define TW_A_SW_STEP(d, base, step) TW_A_R(TW_E_SW_STEP, step, base, d) /* the same with a register */
#define TW_A_SB_STEP(d, base, step) TW_A_R(TW_E_SB_STEP, step, base, d) /* the lowest byte of d */

/* ---- single instructions ---- */

#if TW_XPULP
#define TW_X_ACCUMULATE(name, encoding)                                    \
  static inline int32_t name(int32_t total, uint32_t a, uint32_t b) {      \
    __asm__(TW_A_R(encoding, "%0", "%1", "%2") : "+r"(total) : "r"(a), "r"(b)); \
    return total;                                                          \
  }
#define TW_X_BINARY(name, encoding)                                     \
  static inline int32_t name(int32_t a, int32_t b) {                    \
    int32_t d;                                                          \
    __asm__(TW_A_R(encoding, "%0", "%1", "%2") : "=r"(d) : "r"(a), "r"(b)); \
    return d;                                                           \
  }
#define TW_X_UNARY(name, encoding)                              \
  static inline int32_t name(uint32_t a) {                      \
    int32_t d;                                                  \
    __asm__(TW_A_R(encoding, "%0", "%1", "x0") : "=r"(d) : "r"(a)); \
    return d;                                                   \
  }
TW_X_ACCUMULATE(tw_x_sdotsp4, TW_E_SDOTSP4)   /* total + the products of four signed bytes with signed ones */
TW_X_ACCUMULATE(tw_x_sdotusp4, TW_E_SDOTUSP4) /* unsigned bytes in a, signed ones in b */
TW_X_ACCUMULATE(tw_x_sdotup4, TW_E_SDOTUP4)   /* both unsigned */
TW_X_BINARY(tw_x_dotsp4, TW_E_DOTSP4)         /* the same without a total */
TW_X_BINARY(tw_x_dotusp4, TW_E_DOTUSP4)
TW_X_BINARY(tw_x_dotup4, TW_E_DOTUP4)
TW_X_ACCUMULATE(tw_x_mac_words, TW_E_MAC)
TW_X_BINARY(tw_x_clip, TW_E_CLIP)             /* a between -(b + 1) and b */
TW_X_BINARY(tw_x_clipu, TW_E_CLIPU)           /* a between 0 and b */
TW_X_BINARY(tw_x_min, TW_E_MIN)
TW_X_BINARY(tw_x_max, TW_E_MAX)
TW_X_BINARY(tw_x_max4, TW_E_MAX4)             /* of four signed bytes each */
TW_X_BINARY(tw_x_maxu4, TW_E_MAXU4)           /* of four unsigned bytes each */
TW_X_BINARY(tw_x_minu4, TW_E_MINU4)
TW_X_BINARY(tw_x_min4, TW_E_MIN4)
TW_X_BINARY(tw_x_sub4, TW_E_SUB4)
TW_X_BINARY(tw_x_mulsr16, TW_E_MULSR16)       /* the product of two halves of 16 bits, rounded to its upper half */
TW_X_BINARY(tw_x_shuffle4, TW_E_SHUFFLE4)     /* byte i = byte b[i] of a */
TW_X_UNARY(tw_x_ff1, TW_E_FF1)                /* index of the lowest bit that is set; 32 of zero */
TW_X_UNARY(tw_x_fl1, TW_E_FL1)                /* index of the highest one */
TW_X_BINARY(tw_x_add4, TW_E_ADD4)             /* of four bytes each */
TW_X_ACCUMULATE(tw_x_packlo4, TW_E_PACKLO4)   /* byte 1 = a, byte 0 = b, the others stay */
TW_X_ACCUMULATE(tw_x_packhi4, TW_E_PACKHI4)   /* byte 3 = a, byte 2 = b, the others stay */
TW_X_UNARY(tw_x_abs4, TW_E_ABS4)              /* of four signed bytes; -128 becomes the unsigned 128 */
TW_X_ACCUMULATE(tw_x_shuffle_two, TW_E_SHUFFLE2_4)
TW_X_ACCUMULATE(tw_x_addn, TW_E_ADDN)         /* (total + a) >> b */
/* A byte of a word; the lane is known when this is compiled. */
#define TW_X_EXTRACT(name, EVEN, ODD)                                                    \
  static inline int32_t name(uint32_t x, int lane) {                                     \
    int32_t d;                                                                           \
    switch (lane) {                                                                      \
      case 0: __asm__(TW_A_R(EVEN, "%0", "%1", "x0") : "=r"(d) : "r"(x)); break;         \
      case 1: __asm__(TW_A_R(ODD, "%0", "%1", "x0") : "=r"(d) : "r"(x)); break;          \
      case 2: __asm__(TW_A_R(EVEN, "%0", "%1", "x1") : "=r"(d) : "r"(x)); break;         \
      default: __asm__(TW_A_R(ODD, "%0", "%1", "x1") : "=r"(d) : "r"(x)); break;         \
    }                                                                                    \
    return d;                                                                            \
  }
TW_X_EXTRACT(tw_x_byte, TW_E_EXTRACT, TW_E_EXTRACT_ODD)
TW_X_EXTRACT(tw_x_ubyte, TW_E_EXTRACTU, TW_E_EXTRACTU_ODD)
/* The same word with another byte in one lane, which is known when this is compiled. */
static inline uint32_t tw_x_insert(uint32_t word, int32_t byte, int lane) {
  switch (lane) {
    case 0: __asm__(TW_A_R(TW_E_INSERT, "%0", "%1", "x0") : "+r"(word) : "r"(byte)); break;
    case 1: __asm__(TW_A_R(TW_E_INSERT_ODD, "%0", "%1", "x0") : "+r"(word) : "r"(byte)); break;
    case 2: __asm__(TW_A_R(TW_E_INSERT, "%0", "%1", "x1") : "+r"(word) : "r"(byte)); break;
    default: __asm__(TW_A_R(TW_E_INSERT_ODD, "%0", "%1", "x1") : "+r"(word) : "r"(byte)); break;
  }
  return word;
}
#else
static inline uint32_t tw_x_insert(uint32_t word, int32_t byte, int lane) {
  return (word & ~(0xffu << (8 * lane))) | ((uint32_t)byte & 0xff) << (8 * lane);
}
static inline int32_t tw_x_byte(uint32_t x, int lane) { return (int8_t)(uint8_t)(x >> (8 * lane)); }
static inline int32_t tw_x_ubyte(uint32_t x, int lane) { return (uint8_t)(x >> (8 * lane)); }
#define TW_X_ACCUMULATE(name, BYTE_A, BYTE_B)                         \
  static inline int32_t name(int32_t total, uint32_t a, uint32_t b) { \
    uint32_t sum = (uint32_t)total;                                   \
    for (int i = 0; i < 4; i++) sum += (uint32_t)(BYTE_A(a, i) * BYTE_B(b, i)); \
    return (int32_t)sum;                                              \
  }
TW_X_ACCUMULATE(tw_x_sdotsp4, tw_x_byte, tw_x_byte)
TW_X_ACCUMULATE(tw_x_sdotusp4, tw_x_ubyte, tw_x_byte)
TW_X_ACCUMULATE(tw_x_sdotup4, tw_x_ubyte, tw_x_ubyte)
static inline int32_t tw_x_dotsp4(int32_t a, int32_t b) { return tw_x_sdotsp4(0, (uint32_t)a, (uint32_t)b); }
static inline int32_t tw_x_dotusp4(int32_t a, int32_t b) { return tw_x_sdotusp4(0, (uint32_t)a, (uint32_t)b); }
static inline int32_t tw_x_dotup4(int32_t a, int32_t b) { return tw_x_sdotup4(0, (uint32_t)a, (uint32_t)b); }
static inline int32_t tw_x_mac_words(int32_t total, uint32_t a, uint32_t b) { return (int32_t)((uint32_t)total + a * b); }
static inline int32_t tw_x_min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t tw_x_max(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t tw_x_clip(int32_t a, int32_t b) { return tw_x_max(-b - 1, tw_x_min(a, b)); }
static inline int32_t tw_x_clipu(int32_t a, int32_t b) { return tw_x_max(0, tw_x_min(a, b)); }
#define TW_X_LANES(name, SELECT)                                             \
  static inline int32_t name(int32_t a, int32_t b) {                         \
    uint32_t d = 0;                                                          \
    for (int i = 0; i < 4; i++) d |= (uint32_t)((SELECT) & 0xff) << (8 * i); \
    return (int32_t)d;                                                       \
  }
TW_X_LANES(tw_x_add4, tw_x_ubyte((uint32_t)a, i) + tw_x_ubyte((uint32_t)b, i))
static inline int32_t tw_x_packlo4(int32_t total, uint32_t a, uint32_t b) {
  return (int32_t)(((uint32_t)total & 0xffff0000u) | (a & 0xff) << 8 | (b & 0xff));
}
static inline int32_t tw_x_packhi4(int32_t total, uint32_t a, uint32_t b) {
  return (int32_t)(((uint32_t)total & 0xffffu) | (a & 0xff) << 24 | (b & 0xff) << 16);
}
TW_X_LANES(tw_x_max4, tw_x_max(tw_x_byte((uint32_t)a, i), tw_x_byte((uint32_t)b, i)))
TW_X_LANES(tw_x_maxu4, tw_x_max(tw_x_ubyte((uint32_t)a, i), tw_x_ubyte((uint32_t)b, i)))
TW_X_LANES(tw_x_minu4, tw_x_min(tw_x_ubyte((uint32_t)a, i), tw_x_ubyte((uint32_t)b, i)))
TW_X_LANES(tw_x_min4, tw_x_min(tw_x_byte((uint32_t)a, i), tw_x_byte((uint32_t)b, i)))
TW_X_LANES(tw_x_sub4, tw_x_ubyte((uint32_t)a, i) - tw_x_ubyte((uint32_t)b, i))
static inline int32_t tw_x_mulsr16(int32_t a, int32_t b) { return ((int16_t)a * (int16_t)b + 0x8000) >> 16; }
TW_X_LANES(tw_x_shuffle4, tw_x_ubyte((uint32_t)a, tw_x_ubyte((uint32_t)b, i) & 3))
static inline int32_t tw_x_shuffle_two(int32_t total, uint32_t a, uint32_t b) {
  uint32_t d = 0;
  for (int i = 0; i < 4; i++) {
    const int32_t select = tw_x_ubyte(b, i);
    d |= (uint32_t)tw_x_ubyte(select & 4 ? a : (uint32_t)total, select & 3) << (8 * i);
  }
  return (int32_t)d;
}
static inline int32_t tw_x_addn(int32_t total, uint32_t a, uint32_t b) {
  return (int32_t)((uint32_t)total + a) >> (b & 31);
}
static inline int32_t tw_x_abs4(uint32_t a) {
  uint32_t d = 0;
  for (int i = 0; i < 4; i++) d |= (uint32_t)(tw_x_byte(a, i) < 0 ? -tw_x_byte(a, i) : tw_x_byte(a, i)) << (8 * i);
  return (int32_t)d;
}
static inline int32_t tw_x_ff1(uint32_t a) { return a ? __builtin_ctz(a) : 32; }
static inline int32_t tw_x_fl1(uint32_t a) { return a ? 31 - __builtin_clz(a) : 32; }
#endif

/* total + a * b */
static inline int32_t tw_x_mac(int32_t total, int32_t a, int32_t b) {
  return tw_x_mac_words(total, (uint32_t)a, (uint32_t)b);
}

/* Byte i = byte (select[i] & 3) of `high` where select[i] & 4, else of `low`. */
static inline uint32_t tw_x_shuffle2(uint32_t low, uint32_t high, uint32_t select) {
  return (uint32_t)tw_x_shuffle_two((int32_t)low, high, select);
}

/* Four bytes as a word, the first in the lowest place. */
static inline uint32_t tw_x_pack4(int32_t b0, int32_t b1, int32_t b2, int32_t b3) {
  /* Any register will do to begin with: no byte of it stays. */
  return (uint32_t)tw_x_packhi4(tw_x_packlo4(b0, (uint32_t)b1, (uint32_t)b0), (uint32_t)b3, (uint32_t)b2);
}

/* A word at any address: cores load words that cross a boundary in two accesses. */
static inline uint32_t tw_x_load(const void *from) {
#if TW_XPULP
  uint32_t word;
  __asm__("lw %0, %1" : "=r"(word) : "m"(*(const uint32_t *)from));
  return word;
#else
  const uint8_t *byte = from;
  return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
#endif
}

/* Table entries, one instruction each: entry `index` of words or of bytes. */
static inline uint32_t tw_x_word_at(const uint32_t *table, int32_t index) {
#if TW_XPULP
  uint32_t word;
  __asm__(TW_A_R(TW_E_LW_AT, "%0", "%1", "%2") : "=r"(word) : "r"(table), "r"(4 * index) : "memory");
  return word;
#else
  return table[index];
#endif
}

static inline int32_t tw_x_byte_at(const uint8_t *table, int32_t index) {
#if TW_XPULP
  int32_t byte;
  __asm__(TW_A_R(TW_E_LBU_AT, "%0", "%1", "%2") : "=r"(byte) : "r"(table), "r"(index) : "memory");
  return byte;
#else
  return table[index];
#endif
}

static inline void tw_x_store(void *to, uint32_t word) {
#if TW_XPULP
  __asm__ volatile("sw %1, %0" : "=m"(*(uint32_t *)to) : "r"(word));
#else
  uint8_t *byte = to;
  for (int i = 0; i < 4; i++) byte[i] = (uint8_t)(word >> (8 * i));
#endif
}

#endif
