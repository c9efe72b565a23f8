/* The end of a requantisation of 64 bits, a word at a time. */
#ifndef TW_SHIFTED_WORD_H
#define TW_SHIFTED_WORD_H

#include <stdint.h>

/* wide >> shift, by 1 to 31; what does not fit a word saturates. */
static inline int32_t tw_shifted_word(int64_t wide, int32_t shift) {
  const int32_t upper = (int32_t)(wide >> 32), sign = upper >> 31;
  const int32_t value = (int32_t)((uint32_t)upper << (32 - shift) | (uint32_t)wide >> shift);
  return upper >> (shift - 1) != sign ? sign ^ 0x7fffffff : value;
}

#endif
