/* Panels: bytes become elements of 16 bits, two in a word; those that have 16 bits are only put there. Needs TW_X. */
#ifndef TW_WIDEN_H
#define TW_WIDEN_H

#include <stdint.h>

#include "always.h"
#include "type_names.h"

/* A word that may begin anywhere. */
TW_ALWAYS uint32_t tw_word_at(const void *at) {
  uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

/* The lower halves of two words, and the upper ones. */
TW_ALWAYS uint32_t tw_lower_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
TW_ALWAYS uint32_t tw_upper_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

/* One element beside another. */
TW_ALWAYS uint32_t tw_beside(TW_X a, TW_X b) { return tw_lower_halves((uint32_t)(int32_t)a, (uint32_t)(int32_t)b); }

/* Four words: one by one, which takes less time than two at a time. */
#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>

TW_ALWAYS void tw_store_4(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  __asm__ volatile("str %1, [%0]\n\tstr %2, [%0, #4]\n\tstr %3, [%0, #8]\n\tstr %4, [%0, #12]"
                   :
                   : "r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                   : "memory");
}
#else
TW_ALWAYS void tw_store_4(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  to[0] = a, to[1] = b, to[2] = c, to[3] = d;
}
#endif

#if TW_BYTES_OF(TW_X) == 1
#include "widen_bytes.h"
#else
#include "widen_halves.h"
#endif

#endif
