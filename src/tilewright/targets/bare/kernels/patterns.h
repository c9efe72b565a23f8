/* What instructions that a user declares may do in the inner loops of kernels (docs/instructions.md): each is a macro, a function in
 * plain C that says what it computes, and TW_HAS_... where an instruction does it. Words have four bytes, the lowest first. */
#ifndef TW_PATTERNS_H
#define TW_PATTERNS_H

#include <stdint.h>

#include "instructions.h"

static inline int32_t tw_byte_at(uint32_t word, int32_t at) { return (int8_t)(word >> (8 * at)); }

/* dot4_s8: rd + the sum of the products of four signed bytes. */
static inline uint32_t tw_dot4_s8(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  int32_t sum = 0;
  for (int32_t i = 0; i < 4; i++) sum += tw_byte_at(rs1, i) * tw_byte_at(rs2, i);
  return rd + (uint32_t)sum;
}

/* dot4_u8s8: rd + the sum of the products of four unsigned bytes, rs1, and four signed ones. */
static inline uint32_t tw_dot4_u8s8(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  int32_t sum = 0;
  for (int32_t i = 0; i < 4; i++) sum += (int32_t)(rs1 >> (8 * i) & 255) * tw_byte_at(rs2, i);
  return rd + (uint32_t)sum;
}

/* bits2_s2: rd + the sum of sixteen products. rs1 has two bits of sixteen numbers without sign: the lower ones in its lower half,
 * the higher ones in its upper half. rs2 has sixteen numbers from -2 to 1 in the same way. */
static inline uint32_t tw_bits2_s2(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  uint32_t sum = rd;
  for (int32_t i = 0; i < 16; i++) {
    const uint32_t x = (rs1 >> i & 1) + 2 * (rs1 >> (16 + i) & 1);
    sum += x * (rs2 >> i & 1) - 2 * x * (rs2 >> (16 + i) & 1);
  }
  return sum;
}

/* max4_s8: the larger ones of four pairs of signed bytes. */
static inline uint32_t tw_max4_s8(uint32_t rs1, uint32_t rs2) {
  uint32_t found = 0;
  for (int32_t i = 0; i < 4; i++) {
    const int32_t a = tw_byte_at(rs1, i), b = tw_byte_at(rs2, i);
    found |= ((uint32_t)(a > b ? a : b) & 255) << (8 * i);
  }
  return found;
}

/* max4_u8: of unsigned ones. */
static inline uint32_t tw_max4_u8(uint32_t rs1, uint32_t rs2) { return tw_max4_s8(rs1 ^ 0x80808080u, rs2 ^ 0x80808080u) ^ 0x80808080u; }

/* shift_clip_s8: shifted to the right, within limits. rs2 has the shift in its lowest byte, the least and the greatest result in its
 * upper two. */
static inline uint32_t tw_shift_clip_s8(uint32_t rs1, uint32_t rs2) {
  const int32_t value = (int32_t)rs1 >> (rs2 & 31), low = tw_byte_at(rs2, 2), high = tw_byte_at(rs2, 3);
  return (uint32_t)(value < low ? low : value > high ? high : value);
}

static inline int tw_shift_clip_s8_takes(uint32_t rs2) { return (rs2 & 0xffff) < 32 && tw_byte_at(rs2, 2) <= tw_byte_at(rs2, 3); }

/* requant_s8: a total times a factor of 31 fractional bits, ties up; then shifted to the right, ties away from zero; the zero point;
 * within limits. rs2 has the shift, the zero point, the least and the greatest result in its bytes. */
static inline uint32_t tw_requant_s8(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  const int64_t product = ((int64_t)(int32_t)rd * (int32_t)rs1 + (1 << 30)) >> 31;
  const int64_t half = ((int64_t)1 << (rs2 & 31)) >> 1;
  const int64_t value = ((product - (product < 0) + half) >> (rs2 & 31)) + tw_byte_at(rs2, 1);
  const int32_t low = tw_byte_at(rs2, 2), high = tw_byte_at(rs2, 3);
  return (uint32_t)(int32_t)(value < low ? low : value > high ? high : value);
}

/* The operands that kernels have. */
static inline int tw_requant_s8_takes(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  const int32_t total = (int32_t)rd, shift = (int32_t)(rs2 & 255);
  return total < 1 << 30 && total > -(1 << 30) && (int32_t)rs1 >= 0 && shift >= 1 && shift <= 28 &&
         tw_byte_at(rs2, 2) <= tw_byte_at(rs2, 3);
}

#ifdef TW_DOT4_S8
#define TW_HAS_DOT4_S8 1
#else
#define TW_HAS_DOT4_S8 0
#define TW_DOT4_S8(total, a, b) tw_dot4_s8(total, a, b)
#endif

#ifdef TW_DOT4_U8S8
#define TW_HAS_DOT4_U8S8 1
#else
#define TW_HAS_DOT4_U8S8 0
#define TW_DOT4_U8S8(total, a, b) tw_dot4_u8s8(total, a, b)
#endif

#ifdef TW_BITS2_S2
#define TW_HAS_BITS2_S2 1
#else
#define TW_HAS_BITS2_S2 0
#define TW_BITS2_S2(total, a, b) tw_bits2_s2(total, a, b)
#endif

#ifdef TW_MAX4_S8
#define TW_HAS_MAX4_S8 1
#else
#define TW_HAS_MAX4_S8 0
#define TW_MAX4_S8(a, b) tw_max4_s8(a, b)
#endif

#ifdef TW_MAX4_U8
#define TW_HAS_MAX4_U8 1
#else
#define TW_HAS_MAX4_U8 0
#define TW_MAX4_U8(a, b) tw_max4_u8(a, b)
#endif

#ifdef TW_SHIFT_CLIP_S8
#define TW_HAS_SHIFT_CLIP_S8 1
#else
#define TW_HAS_SHIFT_CLIP_S8 0
#define TW_SHIFT_CLIP_S8(value, how) tw_shift_clip_s8(value, how)
#endif

#ifdef TW_REQUANT_S8
#define TW_HAS_REQUANT_S8 1
#else
#define TW_HAS_REQUANT_S8 0
#define TW_REQUANT_S8(total, factor, how) tw_requant_s8(total, factor, how)
#endif

#endif
