/* Sums of bytes by tables: each summand b has a place in the table of sums where it starts, which is looked up once for
 * all that is added to it. */
#ifndef TW_STARTS_H
#define TW_STARTS_H

#include "lanes.h"

typedef const uint8_t *tw_start;

#if TW_XPULP
#define TW_A_SECOND(d) TW_A_BYTE_AT(d, "%[second]", d)
#define TW_A_START(d) "add " d ", " d ", %[out]\n"
#define TW_A_KEEP(d) TW_A_SW(d, "%[starts]", "4")
#endif

/* Of `count` bytes, signed or not. */
#define TW_DEFINE_SET_STARTS(NAME, B)                                                                                 \
  static inline void NAME(const uint8_t *second, const uint8_t *out, const B *b, tw_start *starts, int32_t count) {   \
    TW_START_WORDS(B)                                                                                                 \
    for (; count > 0; count--) *starts++ = out + second[*b++];                                                        \
  }
#if TW_XPULP
#define TW_START_WORDS(B)                                                                                             \
  if (count >= 4) {                                                                                                   \
    int32_t b0, b1, b2, b3;                                                                                           \
    __asm__ volatile(                                                                                                 \
        TW_A_BEGIN TW_A_LOOP("%[words]", 17) TW_A_LW("%[b3]", "%[b]", "4")                                            \
        TW_A_BYTES("sign", "%[b3]", "%[b0]", "%[b1]", "%[b2]", "%[b3]")                                               \
        TW_A_FOUR(TW_A_SECOND, "%[b0]", "%[b1]", "%[b2]", "%[b3]")                                                    \
        TW_A_FOUR(TW_A_START, "%[b0]", "%[b1]", "%[b2]", "%[b3]")                                                     \
        TW_A_FOUR(TW_A_KEEP, "%[b0]", "%[b1]", "%[b2]", "%[b3]") TW_A_END                                             \
        : [b] "+r"(b), [starts] "+r"(starts), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)          \
        : [words] "r"(count >> 2), [second] "r"(second), [out] "r"(out), [sign] "i"(TW_I_BYTE((B)-1 < 0))             \
        : "memory");                                                                                                  \
  }                                                                                                                   \
  count &= 3;
#else
#define TW_START_WORDS(B)
#endif

#endif
