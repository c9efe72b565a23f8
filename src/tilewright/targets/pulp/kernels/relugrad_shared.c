/* y = a where b is above 0, otherwise 0, broadcast; all cores together. As integers, floats above 0 are 1 up to infinity,
 * with what is no number behind it, and none of the units that two cores share is asked. */
#include <stdint.h>

#include "xpulp.h"

enum { INFINITY_BITS = 0x7f800000 };

#if TW_XPULP
static void tw_where_neighbours_positive(const float *a, const float *b, float *y, int32_t n);
#define TW_NEIGHBOURS(a, b, y, n) tw_where_neighbours_positive(a, b, y, n)
#endif

#include "shared_binary.h"

typedef union {
  float value;
  int32_t bits;
} tw_float_bits;

static inline float tw_where_positive(float a, float b) {
  tw_float_bits kept, of;
  kept.value = a, of.value = b;
  kept.bits &= -(int32_t)((uint32_t)of.bits - 1u < INFINITY_BITS);
  return kept.value;
}

#if TW_XPULP
/* The same in a hardware loop, two at a time. */
#define TW_A_MASK(x) "addi " x ", " x ", -1\nsltu " x ", " x ", %[infinity]\nneg " x ", " x "\n"
static void tw_where_neighbours_positive(const float *a, const float *b, float *y, int32_t n) {
  const int32_t pairs = n >> 1;
  if (pairs > 0) {
    int32_t a0, a1, b0, b1;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 14) TW_A_LW("%[b0]", "%[b]", "4") TW_A_LW("%[b1]", "%[b]", "4")
                         TW_A_LW("%[a0]", "%[a]", "4") TW_A_LW("%[a1]", "%[a]", "4") TW_A_MASK("%[b0]") TW_A_MASK("%[b1]")
                             "and %[a0], %[a0], %[b0]\nand %[a1], %[a1], %[b1]\n" TW_A_SW("%[a0]", "%[y]", "4")
                                 TW_A_SW("%[a1]", "%[y]", "4") TW_A_END
                     : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [a0] "=&r"(a0), [a1] "=&r"(a1), [b0] "=&r"(b0), [b1] "=&r"(b1)
                     : [pairs] "r"(pairs), [infinity] "r"(INFINITY_BITS)
                     : "memory");
  }
  if (n & 1) *y = tw_where_positive(*a, *b);
}
#endif

TW_SHARED_BINARY(tw_where_positive(a, b))
