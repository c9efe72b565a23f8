/* What the semantics of an instruction may use: operands as words, halfwords and bytes, and a few functions. */
#ifndef TW_OPERANDS_H
#define TW_OPERANDS_H

#include <stdint.h>

typedef union {
  uint32_t u32;
  int32_t s32;
  uint16_t u16[2];
  int16_t s16[2];
  uint8_t u8[4];
  int8_t s8[4]; /* the lowest first */
} tw_word;

static inline int32_t clip(int64_t x, int32_t low, int32_t high) { return (int32_t)(x < low ? low : x > high ? high : x); }
static inline int32_t min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t max(int32_t a, int32_t b) { return a > b ? a : b; }
static inline uint32_t popcount(uint32_t x) { return (uint32_t)__builtin_popcount(x); }

/* Four bytes as a word, the first one lowest. */
static inline uint32_t bytes(int32_t a, int32_t b, int32_t c, int32_t d) {
  return (uint32_t)(a & 255) | (uint32_t)(b & 255) << 8 | (uint32_t)(c & 255) << 16 | (uint32_t)(d & 255) << 24;
}

/* The upper word of a product. */
static inline int32_t upper(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b) >> 32); }

#endif
