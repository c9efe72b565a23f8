/* Bytes become elements of 16 bits, two in a word. Needs TW_X. */
#ifndef TW_WIDEN_H
#define TW_WIDEN_H

#include <stdint.h>

#include "always.h"

/* A word that may begin anywhere. */
TW_ALWAYS uint32_t tw_word_at(const void *at) {
  uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>

/* Bytes 0 and 2 of a word, and bytes 1 and 3. */
TW_ALWAYS uint32_t tw_even(uint32_t x) { return (TW_X)-1 < 0 ? (uint32_t)__sxtb16(x) : (uint32_t)__uxtb16(x); }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8 | x << 24); }
#else
TW_ALWAYS uint32_t tw_even(uint32_t x) { return ((uint32_t)(TW_X)x & 0xffff) | (uint32_t)(TW_X)(x >> 16) << 16; }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8); }
#endif

/* The lower halves of two words, and the upper ones. */
TW_ALWAYS uint32_t tw_lower_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
TW_ALWAYS uint32_t tw_upper_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

/* Four elements of one row beside four of another: a word for each. */
TW_ALWAYS void tw_widen_4(const TW_X *a, const TW_X *b, uint32_t *to) {
  const uint32_t first = tw_word_at(a), second = tw_word_at(b);
  const uint32_t even = tw_even(first), odd = tw_odd(first), even_2 = tw_even(second), odd_2 = tw_odd(second);
  to[0] = tw_lower_halves(even, even_2), to[1] = tw_lower_halves(odd, odd_2);
  to[2] = tw_upper_halves(even, even_2), to[3] = tw_upper_halves(odd, odd_2);
}

/* One element beside another. */
TW_ALWAYS uint32_t tw_beside(TW_X a, TW_X b) { return tw_lower_halves((uint32_t)(int32_t)a, (uint32_t)(int32_t)b); }

#endif
