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

#ifdef TW_REQUANT_S8
#define TW_HAS_REQUANT_S8 1
#else
#define TW_HAS_REQUANT_S8 0
#define TW_REQUANT_S8(total, factor, how) tw_requant_s8(total, factor, how)
#endif

#endif
