/* Runs of bytes, copied and filled a word at a time. */
#ifndef TW_BYTES4_H
#define TW_BYTES4_H

#include "xpulp.h"

static inline uint8_t *tw_copy_run(uint8_t *to, const uint8_t *from, int32_t count) {
#if TW_XPULP
  const int32_t pairs = count >> 3;
  if (pairs > 0) {
    uint32_t first, second = (uint32_t)pairs;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%3", 4) TW_A_LW("%2", "%1", "4") TW_A_LW("%3", "%1", "4")
                     TW_A_SW("%2", "%0", "4") TW_A_SW("%3", "%0", "4") TW_A_END
                     : "+r"(to), "+r"(from), "=&r"(first), "+r"(second)
                     :
                     : "memory");
  }
  count &= 7;
#endif
  for (; count >= 4; count -= 4, from += 4, to += 4) tw_x_store(to, tw_x_load(from));
  for (; count > 0; count--) *to++ = *from++;
  return to;
}

/* Some words, steps of bytes apart. */
static inline void tw_copy_words(uint8_t *to, int32_t to_step, const uint8_t *from, int32_t from_step, int32_t count) {
#if TW_XPULP
  const int32_t pairs = count >> 1;
  if (pairs > 0) {
    uint32_t first, second = (uint32_t)pairs;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%3", 4) TW_A_LW_STEP("%2", "%1", "%4") TW_A_LW_STEP("%3", "%1", "%4")
                         TW_A_SW_STEP("%2", "%0", "%5") TW_A_SW_STEP("%3", "%0", "%5") TW_A_END
                     : "+r"(to), "+r"(from), "=&r"(first), "+r"(second)
                     : "r"(from_step), "r"(to_step)
                     : "memory");
  }
  count &= 1;
#endif
  for (; count > 0; count--, from += from_step, to += to_step) tw_x_store(to, tw_x_load(from));
}

static inline uint8_t *tw_fill_run(uint8_t *to, int32_t value, int32_t count) {
  const uint32_t word = 0x01010101u * (uint8_t)value;
#if TW_XPULP
  const int32_t pairs = count >> 3;
  if (pairs > 0) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%1", 2) TW_A_SW("%2", "%0", "4") TW_A_SW("%2", "%0", "4") TW_A_END
                     : "+r"(to)
                     : "r"(pairs), "r"(word)
                     : "memory");
  }
  count &= 7;
#endif
  for (; count >= 4; count -= 4, to += 4) tw_x_store(to, word);
  for (; count > 0; count--) *to++ = (uint8_t)value;
  return to;
}

#endif
