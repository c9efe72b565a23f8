/* Four bytes of x and four of w at a time: x has TW_X, w is signed. */
#ifndef TW_GPU_WORDS_H
#define TW_GPU_WORDS_H

#include "gpu_async.h"

/* total + the four products of bytes of x and of w. */
TW_GPU uint32_t tw_four_products(uint32_t total, uint32_t x, uint32_t w) {
#if TW_IS_ASYNC
  if ((TW_X)-1 < 0) {
    __asm__("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(total) : "r"(x), "r"(w));
  } else {
    __asm__("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(total) : "r"(x), "r"(w));
  }
#else
  for (int32_t i = 0; i < 4; i++) total += (uint32_t)((TW_X)(x >> 8 * i) * (int8_t)(w >> 8 * i));
#endif
  return total;
}

/* Four times the same byte. */
TW_GPU uint32_t tw_word_of(int32_t byte) { return (uint32_t)(byte & 255) * 0x01010101u; }

#endif
